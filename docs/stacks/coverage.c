/* coverage.c - counts which branches of a stack follow each other, in the file that the environment
 * names by SCAPY_TFO_COVERAGE. Link it to a stack that is compiled, unlike this file, with gcc's
 * -fsanitize-coverage=trace-pc or clang's -fsanitize-coverage=trace-pc-guard.
 *
 * The file has 16 bytes, of which we write the first eight, and then a byte for each pair. Without
 * the variable nothing is counted. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define HEAD 16
#define SIZE (1u << 16)

static uint8_t unused[SIZE];
static uint8_t *map = unused;
static __thread uint32_t last;

__attribute__((constructor)) static void coverage_begin(void)
{
    const char *path = getenv("SCAPY_TFO_COVERAGE");
    int file = path == NULL ? -1 : open(path, O_RDWR | O_CLOEXEC);
    uint8_t *whole;
    if (file < 0)
        return;
    whole = mmap(NULL, HEAD + SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (whole == MAP_FAILED)
        return;
    memcpy(whole, "TFO-COV1", 8);
    map = whole + HEAD;
}

static void count(uint32_t here)
{
    uint8_t *pair = &map[(here ^ last) & (SIZE - 1)];
    *pair += *pair != 255;
    last = here >> 1;
}

/* Places in a program that is loaded elsewhere each time are counted from one of its own. */
void __sanitizer_cov_trace_pc(void)
{
    uintptr_t at = (uintptr_t)__builtin_return_address(0) - (uintptr_t)&coverage_begin;
    count((uint32_t)(at * UINT64_C(0x9e3779b97f4a7c15) >> 32));
}

void __sanitizer_cov_trace_pc_guard_init(uint32_t *start, uint32_t *stop)
{
    static uint32_t number;
    for (; start < stop; start++)
        *start = ++number * UINT32_C(0x9e3779b9);
}

void __sanitizer_cov_trace_pc_guard(const uint32_t *guard)
{
    count(*guard);
}
