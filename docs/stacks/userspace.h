/* What stacks in userspace have in common: a TAP device, a clock, and the agent's socket beside
 * them in one loop. It stands on ../hooks/verbs.h. SPDX-License-Identifier: 0BSD
 */
#include <fcntl.h>
#include <linux/if.h>
#include <linux/if_tun.h>
#include <poll.h>
#include <signal.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <time.h>

/* A TAP device's file descriptor, which does not block, or -1 after a word on stderr. */
static int tap_open(const char *name)
{
    struct ifreq request = {.ifr_flags = IFF_TAP | IFF_NO_PI};
    int fd = open("/dev/net/tun", O_RDWR | O_NONBLOCK | O_CLOEXEC);
    strncpy(request.ifr_name, name, IFNAMSIZ - 1);
    if (fd < 0 || ioctl(fd, TUNSETIFF, &request)) {
        perror(name);
        return -1;
    }
    return fd;
}

/* Nanoseconds of a clock that only goes forwards. */
static uint64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

static int asking = -1; /* the suite's connection to the agent */
static FILE *answers;

/* Wait for a frame, for the suite, or for so many nanoseconds, and answer the suite. */
static void wait_and_answer(int tap, int agent, uint64_t timeout)
{
    struct timespec limit = {timeout / 1000000000, timeout % 1000000000};
    struct pollfd polled[2] = {{tap, POLLIN, 0}, {asking < 0 ? agent : asking, POLLIN, 0}};
    if (ppoll(polled, 2, &limit, NULL) <= 0 || !polled[1].revents)
        return;
    if (asking < 0) {
        asking = accept(agent, NULL, NULL);
        answers = asking < 0 ? NULL : fdopen(dup(asking), "w");
    } else if (!answer_lines(asking, answers)) {
        fclose(answers);
        close(asking);
        asking = -1;
    }
}
