# CTest includes this before it reads the tests: what the user has set for own work must not reach them.
unset(ENV{LRA_DATA})
# Tests run side by side: threads that spin while they wait take the cores from each other's. A program that finds this set does not
# start itself anew to set it (cli/patient_threads.h), which `threads` and one training of `cli` try without.
set(ENV{OMP_WAIT_POLICY} passive)
