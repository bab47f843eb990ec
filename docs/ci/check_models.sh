#!/bin/bash
# Checks models with Quadra on a machine without a phone: what a GPU would run, whether it is right, whether it became slower.
#
#   check_models.sh QUADRA MODELS OUT [PLACE]
#
# QUADRA: a clone of Quadra, or the command `quadra` of the installed toolkit. MODELS: a folder of .tflite files. OUT: a folder for reports.
# PLACE: as for --on: host (the default); virtual, from an APK on a virtual device, which takes longer to build; or all, on phones.
#
# QUADRA_CI_TARGET: the GPU that the models are for, a name from host_tools/request/targets (default: adreno-640).
# QUADRA_CI_CPU_NODES: how many nodes of a model may stay on the CPU (default: 0).
# QUADRA_CI_PERCENT: by how much a time must be worse for an alarm, in per cent (default: 20).
# QUADRA_HISTORY: earlier runs, kept from job to job (default: OUT/history.sqlite).
#
# Exit status: 0, or the first that a step ended with: 1 something is wrong, slower or on the CPU; others as Quadra's README has them.
set -uo pipefail

if [ $# -lt 3 ]; then
  awk 'NR > 1 { if (!/^#/) exit; sub(/^# ?/, ""); print }' "$0" >&2
  exit 2
fi
if [ -x "$1/inv" ]; then quadra=$(realpath "$1")/inv; else quadra=$(command -v "$1"); fi
if [ -z "$quadra" ]; then
  echo "error: find Quadra as $1: it is no clone and no command; next: name the folder of a clone, or install quadra-tools" >&2
  exit 2
fi
models=$(realpath "$2") out=$(realpath -m "$3") place=${4:-host}
target=${QUADRA_CI_TARGET:-adreno-640} most_on_cpu=${QUADRA_CI_CPU_NODES:-0} percent=${QUADRA_CI_PERCENT:-20}
export QUADRA_RUNS_DIR=$out/runs QUADRA_HISTORY=${QUADRA_HISTORY:-$out/history.sqlite}
mkdir -p "$out"
rm -f "$out/junit.xml" # an earlier job's
shopt -s nullglob
files=("$models"/*.tflite)
if [ ${#files[@]} = 0 ]; then
  echo "error: find models in $models: there is no .tflite file; next: name their folder" >&2
  exit 2
fi

first=0
failed() { # failed STATUS WHAT
  echo "failed with status $1: $2" >&2
  if [ "$first" = 0 ]; then first=$1; fi
}

for model in "${files[@]}"; do
  name=$(basename "$model" .tflite)
  "$quadra" support "$model" --target "$target" --max-cpu-nodes "$most_on_cpu" --json >"$out/$name.support.json" ||
    failed $? "support of $name on $target"
  "$quadra" run "$model" --on "$place" --runs 10 --junit "$out/run-$name.xml" || failed $? "run of $name"
done

# One cell per model. The first job saves what the others compare with; later only a better result is saved, so small losses add up.
# Other jobs share the machine and its caches, and move times by several per cent: by default only a fifth is an alarm.
case ${files[*]} in
  *"'"*)
    echo "error: list the models of $models: a name has an apostrophe; next: rename that file" >&2
    exit 2
    ;;
esac
touch "$out/.regress"
suite=$out/models.toml
{
  echo 'launches = 5'
  echo '[[cells]]'
  printf 'models = ['
  printf "'%s', " "${files[@]}"
  echo ']'
  echo '[limits]'
  for metric in init first steady; do echo "$metric = { percent = $percent, see = $((percent * 5 / 2)) }"; done
} >"$suite"
"$quadra" regress "$suite" --on "$place" --baseline main --save main || failed $? "regression check"
sessions=("$QUADRA_RUNS_DIR"/regress-*)
if [ ${#sessions[@]} -gt 0 ] && [ "${sessions[-1]}" -nt "$out/.regress" ]; then cp "${sessions[-1]}/junit.xml" "$out"; fi
exit "$first"
