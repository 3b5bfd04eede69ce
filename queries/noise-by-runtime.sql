-- Noise by runtime: standard deviation of the repeats of a record over their mean.
-- needs records WHERE repeat_count > 1 : records with several repeats
-- plot: kind=scatter x=runtime_ns y=noise_percent by=platform log=x
SELECT platform, runtime_ns, 100 * noise AS noise_percent
FROM records
WHERE status = 'ok' AND repeat_count > 1
