# Tries the tarball of the binary, in a system that has nothing else. Run by release/smoke.
set -euo pipefail
tar -xzf /artifacts/tsql-*-x86_64-unknown-linux-gnu.tar.gz
folder=$(echo tsql-*-x86_64-unknown-linux-gnu)
for file in README.md CHANGELOG.md LICENSE NOTICE THIRD_PARTY_LICENSES completions/tsql.bash man/man1/tsql-ingest.1; do
    test -s "$folder/$file" || { echo "missing: $file"; exit 1; }
done
tsql=$PWD/$folder/tsql
"$tsql" --version
test "$("$tsql" --sample 'SELECT count(*) FROM records' | tail -1)" = 480
cp -r /artifacts/data/epyc-1t logs
"$tsql" --store s ingest logs
test "$("$tsql" --store s 'SELECT count(*) FROM records' | tail -1)" = 240
"$tsql" --store s export files -o back
diff -r logs back/logs
"$tsql" --store s plot "SELECT platform, runtime_ns FROM records WHERE error_no = 0" --kind box -o plot.svg
grep -q '<svg' plot.svg
"$tsql" --store s check
if "$tsql" --store s 'SELECT nothing FROM records' 2> error; then echo "a wrong column passed"; exit 1; fi
grep -q nothing error
