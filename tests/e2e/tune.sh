# bench --tune stores the fastest choices, later runs use them, checkpoints record them; bench --kernels.
source "$DPTRAIN_SOURCE/tests/e2e/lib.bash"

tiny_convolutions >tiny.yaml
export XDG_CACHE_HOME=$work/cache
cache=$work/cache/dptrain/conv.json

say "tuning times every pass and keeps the fastest"
run 0 bench tiny.yaml --tune --cpus 2x1
says 'forward 16x16x3 to 14x14x16'
says 'weights 7x7x16 to 7x7x16'
says "saved 5 choices in $cache"
[ -s "$cache" ] || fail "there is no $cache"
[ "$(ls -A "$work/cache/dptrain")" = conv.json ] || fail "temporary files remain next to the cache"

say "later runs take them, for this number of threads"
sed -i 's/"\(\(forward\|data\|weights\) [^"]*\)": "[^"]*"/"\1": "dnnl nhwc"/' "$cache"
run 0 summary tiny.yaml --plan --cpus 2x1
says "5 convolution passes: 5 tuned ($cache), 0 by rule"
says 'nhwc, tuned'
run 0 summary tiny.yaml --plan --cpus 1x2
says '5 convolution passes by rule'
run 0 summary tiny.yaml --plan --cpus 2x1 --set runtime.conv_cache=none
says '5 convolution passes by rule'
run 0 summary tiny.yaml --plan --cpus 2x1 --conv direct
silent_on winograd

say "a checkpoint records them, and resuming with others is a warning"
run 0 fit tiny.yaml --cpus 2x1 --epochs 1 --run-dir run
cp -r run other
run 0 fit tiny.yaml --cpus 2x1 --epochs 2 --run-dir run --resume
silent_on 'computed by another algorithm'
run 0 fit tiny.yaml --cpus 2x1 --epochs 2 --run-dir other --resume --set runtime.conv_cache=none
says 'computed by another algorithm than in the checkpoint (data 7x7x16'

say "a damaged cache is a warning and the rules"
head -c 40 "$cache" >half && mv half "$cache"
run 0 summary tiny.yaml --plan --cpus 2x1
says 'is not a cache of convolution choices, or is damaged'
says '5 convolution passes by rule'
run 0 fit tiny.yaml --cpus 2x1 --steps 1 --run-dir third
says 'or is damaged'

say "invalid uses of --tune are usage errors"
run 2 bench tiny.yaml --tune --conv direct
run 2 bench tiny.yaml --tune --set runtime.conv_cache=none
run 2 bench --tune
says 'CONFIG is missing'
run 2 bench tiny.yaml --filter conv
says '--filter needs --kernels'

say "kernels by themselves, where Google Benchmark is built in"
code=0
"$DPTRAIN" bench tiny.yaml --kernels --cpus 1x1 --filter 'conv/7x7x16/.*/forward/(winograd|naive)' >out 2>&1 || code=$?
if [ $code -eq 2 ]; then
  says 'this build has no kernel benchmarks'
else
  [ $code -eq 0 ] || fail "bench --kernels: exit $code"
  says 'conv/7x7x16/3x3/16/forward/winograd'
  says 'conv/7x7x16/3x3/16/forward/naive'
  run 2 bench tiny.yaml --kernels --cpus 2x1
fi
