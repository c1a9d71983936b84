// What jemalloc reads as the program starts: freed memory is kept. A training step frees and asks
// for the same large blocks again, and pages that come back from the system cost more than the
// step's arithmetic on them.
extern "C" {
extern const char* malloc_conf;
const char* malloc_conf = "dirty_decay_ms:-1,muzzy_decay_ms:-1";
}
