# CTest includes this before it reads the tests: what the user has set for own work must not reach them.
unset(ENV{LRA_DATA})
