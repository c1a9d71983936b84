# Tests that wait for what a process does source this file.

# await PROCESS COMMAND...: waits until the command succeeds, as long as the process lives and 10 minutes at most, which only a test
# that fails waits. Its exit code is the command's last one.
await() {
  local process=$1 end=$((SECONDS + 600))
  shift
  until "$@"; do
    # What the process did last counts, too.
    if ! kill -0 "$process" 2>/dev/null || [ $SECONDS -ge $end ]; then "$@"; return; fi
    sleep 0.05
  done
}
