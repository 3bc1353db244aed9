/* FreeBSD's TCP, as F-Stack carries it, as a target of scapy-tfo: with the hooks of docs/hooks.md.
 *
 *     target TAP SOCKET [NAME=VALUE | boot:NAME=VALUE]...    sysctls, and tunables at boot
 *
 * It is 10.77.0.2 and fd77::2 on that TAP, and prints "ready". hz is 1000; all sysctls have
 * FreeBSD's defaults but those given here. SPDX-License-Identifier: 0BSD
 */
#include "apps.h"

#define MORE_VERBS ""
#include "verbs.h"

#include "../userspace.h"
#include "device.h"
#include "ff_api.h"
#include "ff_dpdk_if.h"
#include "ff_event.h"
#include "ff_host_interface.h"
#include "ff_veth.h"

enum { MAX_FDS = 1 << 16, EVENTS_AT_ONCE = 64, HZ = 1000, MEMORY = 256 << 20 };
enum { FREEBSD_NODELAY = 1, FREEBSD_FASTOPEN = 1025, FREEBSD_V6ONLY = 27 };
enum { FREEBSD_SOL_SOCKET = 0xffff, FREEBSD_LINGER = 0x80 };
static const uint64_t TICK = UINT64_C(1000000000) / HZ; /* nanoseconds */

extern int ff_freebsd_init(void);
extern void ff_hardclock(void);

/* ---- The stack, for apps.h ---- */

static int queue = -1; /* a kqueue */
static struct connection *by_fd[MAX_FDS];

static void watch(int fd, int filter, int flags)
{
    struct kevent it;
    EV_SET(&it, fd, filter, EV_ADD | flags, 0, 0, NULL);
    ff_kevent(queue, &it, 1, NULL, 0, NULL);
}

static int option(int fd, int level, int name, int value)
{
    return ff_setsockopt_freebsd(fd, level, name, &value, sizeof value);
}

static int stack_listen(int family, int port, int limit, int backlog)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    int is4 = family == AF_INET, on = 1;
    if (limit && backlog != DEFAULT_BACKLOG) { /* the limit is half the backlog: syncache_add() */
        errno = ENOTSUP;
        return -1;
    }
    int fd = ff_socket(family, SOCK_STREAM, 0);
    if (fd < 0)
        return -1;
    ff_ioctl(fd, FIONBIO, &on);
    option(fd, IPPROTO_TCP, FREEBSD_NODELAY, 1);
    if ((!is4 && option(fd, IPPROTO_IPV6, FREEBSD_V6ONLY, 1)) ||
        ff_bind(fd, is4 ? (void *)&four : (void *)&six, is4 ? sizeof four : sizeof six) ||
        (limit && option(fd, IPPROTO_TCP, FREEBSD_FASTOPEN, 1)) ||
        ff_listen(fd, limit ? 2 * limit : backlog)) {
        int why = errno;
        ff_close(fd);
        errno = why;
        return -1;
    }
    watch(fd, EVFILT_READ, 0);
    return fd;
}

static ssize_t stack_read(int fd, void *to, size_t room)
{
    return ff_read(fd, to, room);
}

static ssize_t stack_write(int fd, const void *data, size_t length)
{
    return ff_write(fd, data, length);
}

static void stack_shutdown(int fd)
{
    ff_shutdown(fd, SHUT_WR);
}

static void stack_close(int fd)
{
    by_fd[fd] = NULL;
    ff_close(fd);
}

static void stack_reset(int fd)
{
    struct linger now = {1, 0};
    ff_setsockopt_freebsd(fd, FREEBSD_SOL_SOCKET, FREEBSD_LINGER, &now, sizeof now);
    stack_close(fd);
}

static void accept_all(struct listener *of, int listening)
{
    union {
        struct linux_sockaddr any;
        struct sockaddr_storage storage;
    } from;
    for (;;) {
        socklen_t size = sizeof from;
        int on = 1, fd = ff_accept(listening, &from.any, &size);
        if (fd < 0)
            return;
        if (fd >= MAX_FDS) {
            ff_close(fd);
            continue;
        }
        ff_ioctl(fd, FIONBIO, &on);
        greet(of, fd, &from.storage);
        if (connections->ended)
            continue;
        by_fd[fd] = connections;
        /* serve() goes on until nothing is left: it needs to know only of what is new. */
        watch(fd, EVFILT_READ, EV_CLEAR);
        watch(fd, EVFILT_WRITE, EV_CLEAR);
    }
}

static int stack_turn(void)
{
    static const struct timespec at_once;
    struct kevent events[EVENTS_AT_ONCE];
    int found = ff_kevent(queue, NULL, 0, events, EVENTS_AT_ONCE, &at_once);
    for (int i = 0; i < found; i++) {
        int fd = events[i].ident;
        if (by_fd[fd]) {
            serve(by_fd[fd]);
            continue;
        }
        for (struct listener *l = listeners; l; l = l->next)
            if (l->fd[0] == fd || l->fd[1] == fd)
                accept_all(l, fd);
    }
    if (found > 0)
        forget_ended();
    return found;
}

static int more_verbs(FILE *to, struct listener *of, const char *word, const char *line)
{
    (void)to, (void)of, (void)word, (void)line;
    return 0;
}

/* ---- FreeBSD's start ---- */

/* Keep NAME=VALUE for FreeBSD's start: a number as an int, as most sysctls are. */
static void keep(struct ff_freebsd_cfg **list, const char *given, int at_boot)
{
    struct ff_freebsd_cfg *kept = must(calloc(1, sizeof *kept));
    char *end;
    kept->name = must(strdup(given));
    kept->str = strchr(kept->name, '=');
    *kept->str++ = 0;
    kept->value = kept->str;
    kept->vlen = strlen(kept->str);
    int number = strtol(kept->str, &end, 0);
    if (!at_boot && !*end) {
        kept->vlen = sizeof number;
        kept->value = must(malloc(sizeof number));
        memcpy(kept->value, &number, sizeof number);
    }
    while (*list)
        list = &(*list)->next;
    *list = kept;
}

static struct ff_dpdk_if_context *booted(char **settings)
{
    static struct ff_port_cfg port = {.addr = "10.77.0.2", .netmask = "255.255.255.0",
                                      .gateway = "10.77.0.1", .broadcast = "10.77.0.255",
                                      .addr6_str = "fd77::2", .prefix_len = 64};
    memcpy(port.mac, "\x02\x00\x00\x77\x00\x05", 6);
    ff_global_cfg.freebsd.hz = HZ;
    ff_global_cfg.freebsd.physmem = MEMORY;
    ff_global_cfg.freebsd.fd_reserve = 1024;
    keep(&ff_global_cfg.freebsd.boot, "kern.features.inet6=1", 1);
    keep(&ff_global_cfg.freebsd.sysctl, "net.inet.tcp.fastopen.server_enable=1", 0);
    keep(&ff_global_cfg.freebsd.sysctl, "kern.ipc.soacceptqueue=32768", 0);
    for (; *settings; settings++)
        if (!strncmp(*settings, "boot:", 5))
            keep(&ff_global_cfg.freebsd.boot, *settings + 5, 1);
        else
            keep(&ff_global_cfg.freebsd.sysctl, *settings, 0);
    ff_update_current_ts();
    return ff_freebsd_init() ? NULL : ff_veth_attach(&port);
}

int main(int argc, char **argv)
{
    struct ff_dpdk_if_context *interface;
    int agent;
    for (int i = 3; i < argc; i++)
        if (!strchr(argv[i], '='))
            argc = 0;
    if (argc < 3) {
        fprintf(stderr, "usage: target TAP SOCKET [NAME=VALUE | boot:NAME=VALUE]...\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    if ((device_tap = tap_open(argv[1])) < 0 || (agent = agent_socket(argv[2])) < 0)
        return 1;
    if (!(interface = booted(argv + 3)) || (queue = ff_kqueue()) < 0) {
        fprintf(stderr, "FreeBSD does not start\n");
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    for (uint64_t next = now_ns() + TICK;;) {
        uint64_t now = now_ns();
        wait_and_answer(device_tap, agent, next > now ? next - now : 0);
        for (now = now_ns(); now >= next; next += TICK) {
            ff_update_current_ts();
            ff_hardclock();
        }
        device_receive(interface);
        while (stack_turn() == EVENTS_AT_ONCE)
            ;
    }
}
