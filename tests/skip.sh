# Tests that not every machine can run source this file.

# skip REASON: ends the test as skipped (77), or as failed where LRA_NO_SKIPS says that nothing may be.
skip() {
  if [ -n "${LRA_NO_SKIPS:-}" ]; then echo "FAILED: LRA_NO_SKIPS is set, and this would be skipped: $*"; exit 1; fi
  echo "skipped: $*"
  exit 77
}
