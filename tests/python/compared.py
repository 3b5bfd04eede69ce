"""Computes the results of `tsql compare` by brute force, from lines {"a": [repeats], "b": [repeats]} of a file.

The distribution of the rank sum enumerates all ways to pick the new repeats among all repeats.
"""

import itertools
import json
import sys

import numpy

CHANGE = 0.02


def ranks(values):
    """Returns ranks from 1. Equal values have the mean of their ranks."""
    values = numpy.asarray(values)
    return numpy.array([(values < one).sum() + ((values == one).sum() + 1) / 2 for one in values])


def sums(of_ranks, picks):
    return numpy.array([sum(pick) for pick in itertools.combinations(of_ranks, picks)])


def test(a, b):
    of_ranks = ranks(a + b)
    found, all_sums = of_ranks[len(a):].sum(), sums(of_ranks, len(b))
    below, above = (all_sums <= found + 1e-9).mean(), (all_sums >= found - 1e-9).mean()
    return min(1.0, 2 * min(below, above))


def interval(a, b):
    """Returns the ratios at the largest k for which U < k has a probability of at most 2.5 %."""
    ratios = numpy.sort([new / old for new in b for old in a])
    u = sums(range(1, len(a) + len(b) + 1), len(b)) - len(b) * (len(b) + 1) / 2
    k = max((k for k in range(len(ratios)) if (u < k).mean() <= 0.025), default=0)
    return (ratios[k - 1], ratios[-k]) if k else (0.0, numpy.inf)


def benjamini_hochberg(p):
    order = numpy.argsort(p)
    scaled = numpy.array(p)[order] * len(p) / numpy.arange(1, len(p) + 1)
    corrected = numpy.empty(len(p))
    corrected[order] = numpy.minimum.accumulate(scaled[::-1])[::-1]
    return corrected


def quantile(freedom):
    """Returns the 97.5 % quantile of Student's t, from its density."""
    t = numpy.linspace(0, 40, 4_000_001)
    density = (1 + t * t / freedom) ** (-(freedom + 1) / 2)
    area = numpy.concatenate([[0], numpy.cumsum((density[1:] + density[:-1]) / 2)])
    return float(numpy.interp(0.95, area / area[-1], t))


pairs = [json.loads(line) for line in open(sys.argv[1])]
ratios = [float(numpy.exp(numpy.median([numpy.log(n / o) for n in p["b"] for o in p["a"]]))) for p in pairs]
corrected = benjamini_hochberg([test(pair["a"], pair["b"]) for pair in pairs])
verdicts = []
for pair, ratio, p in zip(pairs, ratios, corrected):
    ratio_of_minima = min(pair["b"]) / min(pair["a"])
    low, high = interval(pair["a"], pair["b"])
    if p < 0.05 and min(ratio, ratio_of_minima) >= 1 + CHANGE:
        verdicts.append("slower")
    elif p < 0.05 and max(ratio, ratio_of_minima) <= 1 / (1 + CHANGE):
        verdicts.append("faster")
    elif low > 1 / (1 + CHANGE) and high < 1 + CHANGE:
        verdicts.append("same")
    else:
        verdicts.append("unclear")
logs = -numpy.log(ratios)
half = quantile(len(logs) - 1) * logs.std(ddof=1) / len(logs) ** 0.5
slower = [(ratio, pair["config_id"]) for pair, ratio, verdict in zip(pairs, ratios, verdicts) if verdict == "slower"]
json.dump(
    {
        "pairs": len(pairs),
        "speedup": float(numpy.exp(logs.mean())),
        "speedup_low": float(numpy.exp(logs.mean() - half)),
        "speedup_high": float(numpy.exp(logs.mean() + half)),
        **{word: verdicts.count(word) for word in ("faster", "slower", "same", "unclear")},
        "worst": [config_id for _, config_id in sorted(slower, reverse=True)],
    },
    sys.stdout,
)
