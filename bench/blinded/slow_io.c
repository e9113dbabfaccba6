/*
 * Makes reads and syncs of a program take longer, by as much as a file says, and counts them: for LD_PRELOAD.
 *
 * SLOW_IO names the file, which all processes of the program map. It is an array of 64-bit numbers (enum below, in this
 * order): first what is asked for, which another program changes at any moment, then what was done since it was made.
 * A delay begins when the call itself is done, so that what the device takes stays what it is.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
    READ_DELAY, SYNC_DELAY, SPREAD,
    READS, READ_BYTES, READ_NS, READ_DELAYED_NS, WRITES, WRITE_BYTES, SYNCS, SYNC_NS, SYNC_DELAYED_NS,
    NUMBERS
};

/* Smaller reads are of files that say something, such as /proc, and not of data. */
#define LEAST_BYTES 512
/* A spread delay is exponential: one in 22,000 would be longer than this many means. */
#define MOST_MEANS 10
#define NANOS 1000000000ull

static uint64_t nowhere[NUMBERS];
static uint64_t *numbers = nowhere;

__attribute__((constructor)) static void begin(void) {
    const char *name = getenv("SLOW_IO");
    int file = name ? open(name, O_RDWR | O_CLOEXEC) : -1;
    if (file < 0)
        return;
    void *map = mmap(NULL, sizeof nowhere, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (map != MAP_FAILED)
        numbers = map;
    close(file);
}

static uint64_t asked(int which) {
    return __atomic_load_n(&numbers[which], __ATOMIC_RELAXED);
}

static void add(int which, uint64_t amount) {
    __atomic_fetch_add(&numbers[which], amount, __ATOMIC_RELAXED);
}

static uint64_t now(void) {
    struct timespec at;
    clock_gettime(CLOCK_MONOTONIC, &at);
    return at.tv_sec * NANOS + at.tv_nsec;
}

/* A number above 0 and up to 1, by xorshift64*; each thread, and each process that was forked, has its own series. */
static double draw(void) {
    static __thread uint64_t state;
    static __thread pid_t drawn_by;
    if (drawn_by != gettid()) {
        drawn_by = gettid();
        state = (now() ^ ((uint64_t)drawn_by << 32)) | 1;
    }
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return ((state * 2685821657736338717ull >> 11) + 1) / 9007199254740992.0;
}

/* Waits, and returns for how long it did. */
static uint64_t wait_for(uint64_t mean) {
    static __thread int precise;
    if (!mean)
        return 0;
    if (!precise) {
        prctl(PR_SET_TIMERSLACK, 1000ul);
        precise = 1;
    }
    double times = asked(SPREAD) ? fmin(-log(draw()), MOST_MEANS) : 1.0;
    uint64_t since = now(), until = since + (uint64_t)(mean * times);
    struct timespec at = {until / NANOS, until % NANOS};
    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &at, NULL) == EINTR)
        ;
    return now() - since;
}

static ssize_t after_read(uint64_t begun, ssize_t done) {
    int error = errno;
    if (done >= LEAST_BYTES) {
        add(READ_DELAYED_NS, wait_for(asked(READ_DELAY)));
        add(READS, 1);
        add(READ_BYTES, done);
        add(READ_NS, now() - begun);
    }
    errno = error;
    return done;
}

static ssize_t after_write(ssize_t done) {
    if (done > 0) {
        add(WRITES, 1);
        add(WRITE_BYTES, done);
    }
    return done;
}

static int after_sync(uint64_t begun, int failed) {
    int error = errno;
    add(SYNC_DELAYED_NS, wait_for(asked(SYNC_DELAY)));
    add(SYNCS, 1);
    add(SYNC_NS, now() - begun);
    errno = error;
    return failed;
}

/* The next library's function of the same name, found at its first call. */
#define NEXT(type, name, ...) \
    static type (*next)(__VA_ARGS__); \
    if (!next) \
        next = (type (*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

#define READ(name, offset_t) \
    ssize_t name(int file, void *to, size_t bytes, offset_t at) { \
        NEXT(ssize_t, name, int, void *, size_t, offset_t); \
        uint64_t begun = now(); \
        return after_read(begun, next(file, to, bytes, at)); \
    }

#define READ_PARTS(name, offset_t) \
    ssize_t name(int file, const struct iovec *to, int parts, offset_t at) { \
        NEXT(ssize_t, name, int, const struct iovec *, int, offset_t); \
        uint64_t begun = now(); \
        return after_read(begun, next(file, to, parts, at)); \
    }

#define WRITE(name, offset_t) \
    ssize_t name(int file, const void *from, size_t bytes, offset_t at) { \
        NEXT(ssize_t, name, int, const void *, size_t, offset_t); \
        return after_write(next(file, from, bytes, at)); \
    }

#define WRITE_PARTS(name, offset_t) \
    ssize_t name(int file, const struct iovec *from, int parts, offset_t at) { \
        NEXT(ssize_t, name, int, const struct iovec *, int, offset_t); \
        return after_write(next(file, from, parts, at)); \
    }

#define SYNC(name) \
    int name(int file) { \
        NEXT(int, name, int); \
        uint64_t begun = now(); \
        return after_sync(begun, next(file)); \
    }

READ(pread, off_t)
READ(pread64, off64_t)
READ_PARTS(preadv, off_t)
READ_PARTS(preadv64, off64_t)
WRITE(pwrite, off_t)
WRITE(pwrite64, off64_t)
WRITE_PARTS(pwritev, off_t)
WRITE_PARTS(pwritev64, off64_t)
SYNC(fsync)
SYNC(fdatasync)
