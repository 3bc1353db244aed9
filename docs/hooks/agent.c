/* Hooks for scapy-tfo, as docs/hooks.md describes them: an agent to copy, for Linux and FreeBSD.
 * Here are the sockets; apps.h has the applications, verbs.h the protocol.
 *
 *     cc -O2 -o agent agent.c
 *     ./agent                 speaks on its standard input and output (hooks.command)
 *     ./agent PATH            listens on that Unix socket, and prints "ready" (hooks.socket)
 *
 * Copy the three files and change them as you like. SPDX-License-Identifier: 0BSD
 */
#include "apps.h"

#ifdef __linux__
#define MORE_VERBS " keys counters"
#define KEY_OPTION 33 /* TCP_FASTOPEN_KEY of linux/tcp.h */
#else
#define MORE_VERBS ""
#endif
#include "verbs.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>

/* ---- The stack: sockets of this host ---- */

static int option(int fd, int level, int name, int value)
{
    return setsockopt(fd, level, name, &value, sizeof value);
}

/* A listening socket, or -1. */
static int stack_listen(int family, int port, int limit, int backlog)
{
    struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
    struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
    int is4 = family == AF_INET, fd = socket(family, SOCK_STREAM, 0);
    int fast_open = limit;
    if (fd < 0)
        return -1;
#ifdef __FreeBSD__ /* there the limit is half the backlog, so the two cannot be chosen apart */
    if (limit && backlog != DEFAULT_BACKLOG) {
        close(fd);
        errno = ENOTSUP;
        return -1;
    }
    if (limit)
        backlog = 2 * limit;
    fast_open = 1;
#endif
    fcntl(fd, F_SETFL, O_NONBLOCK);
    fcntl(fd, F_SETFD, FD_CLOEXEC);
    option(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    option(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    if ((!is4 && option(fd, IPPROTO_IPV6, IPV6_V6ONLY, 1)) ||
        (limit && option(fd, IPPROTO_TCP, TCP_FASTOPEN, fast_open)) ||
        (is4 ? bind(fd, (void *)&four, sizeof four) : bind(fd, (void *)&six, sizeof six)) ||
        listen(fd, backlog)) {
        int why = errno;
        close(fd);
        errno = why;
        return -1;
    }
    return fd;
}

static ssize_t stack_read(int fd, void *to, size_t room)
{
    return read(fd, to, room);
}

static ssize_t stack_write(int fd, const void *data, size_t length)
{
    return write(fd, data, length);
}

static void stack_shutdown(int fd)
{
    shutdown(fd, SHUT_WR);
}

static void stack_close(int fd)
{
    close(fd);
}

static void stack_reset(int fd)
{
    struct linger now = {1, 0};
    setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    close(fd);
}

/* Wait for sockets, or for a line on `control`, and serve them. Returns how many had something. */
static int turn(int control, int timeout, int *has_line)
{
    static struct pollfd *polled;
    size_t n = 1, at = 1;
    for (struct listener *l = listeners; l; l = l->next)
        n += 2;
    for (struct connection *c = connections; c; c = c->next)
        n++;
    polled = must(realloc(polled, n * sizeof *polled));
    polled[0] = (struct pollfd){control, POLLIN, 0};
    for (struct listener *l = listeners; l; l = l->next)
        for (int i = 0; i < 2; i++)
            polled[at++] = (struct pollfd){l->fd[i], POLLIN, 0};
    for (struct connection *c = connections; c; c = c->next) {
        /* poll() passes over -1: who reads nothing is not told of an end again and again. */
        int fd = c->of->app == NEVER_READS ? -1 : c->fd;
        polled[at++] = (struct pollfd){fd, c->length ? POLLOUT : POLLIN, 0};
    }
    int found = poll(polled, n, timeout);
    *has_line = polled[0].revents != 0;
    at = 1;
    struct connection *known = connections;
    for (struct listener *l = listeners; l; l = l->next)
        for (int i = 0; i < 2; i++)
            if (polled[at++].revents) {
                struct sockaddr_storage from;
                socklen_t size = sizeof from;
                int fd;
                while ((fd = accept(l->fd[i], (void *)&from, &size)) >= 0) {
                    fcntl(fd, F_SETFL, O_NONBLOCK);
                    greet(l, fd, &from);
                    size = sizeof from;
                }
            }
    for (struct connection *c = known; c; c = c->next)
        if (polled[at++].revents)
            serve(c);
    forget_ended();
    return found - *has_line;
}

static int stack_turn(void)
{
    int unused;
    return turn(-1, 0, &unused);
}

/* ---- Verbs that Linux has besides ---- */

#ifdef __linux__
static void do_keys(FILE *to, struct listener *l, const char *hex)
{
    unsigned char keys[32];
    size_t length = 0;
    unsigned byte;
    for (; length < sizeof keys && sscanf(hex, "%2x", &byte) == 1; length++) {
        keys[length] = byte;
        hex += hex[2] == ',' ? 3 : 2;
    }
    for (int i = 0; i < 2; i++)
        if (l->fd[i] >= 0 && setsockopt(l->fd[i], IPPROTO_TCP, KEY_OPTION, keys, length)) {
            fprintf(to, "error %s", strerror(errno));
            return;
        }
    fprintf(to, "ok");
}

static void do_counters(FILE *to)
{
    char *names = NULL, *values = NULL, *a, *b, *rest[2];
    size_t room[2] = {0, 0};
    FILE *file = fopen("/proc/net/netstat", "r");
    fprintf(to, "ok");
    while (file && getline(&names, room, file) > 0 && getline(&values, room + 1, file) > 0)
        if (!strncmp(names, "TcpExt:", 7)) {
            a = strtok_r(names, " \n", rest);
            b = strtok_r(values, " \n", rest + 1);
            for (; a && b; a = strtok_r(NULL, " \n", rest), b = strtok_r(NULL, " \n", rest + 1))
                if (strstr(a, "FastOpen"))
                    fprintf(to, " %s=%s", a, b);
        }
    free(names);
    free(values);
    if (file)
        fclose(file);
}

static int more_verbs(FILE *to, struct listener *of, const char *word, const char *line)
{
    char hex[80] = "";
    if (!strcmp(word, "counters"))
        do_counters(to);
    else if (of && sscanf(line, "keys %*d %79s", hex) == 1)
        do_keys(to, of, hex);
    else
        return 0;
    return 1;
}
#else
static int more_verbs(FILE *to, struct listener *of, const char *word, const char *line)
{
    (void)to, (void)of, (void)word, (void)line;
    return 0;
}
#endif

/* Answer lines until the other end hangs up. */
static void converse(int in, int out)
{
    FILE *to = fdopen(dup(out), "w");
    int has_line, goes_on = to != NULL;
    while (goes_on) {
        turn(in, -1, &has_line);
        if (has_line)
            goes_on = answer_lines(in, to);
    }
    if (to)
        fclose(to);
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        converse(0, 1);
        return 0;
    }
    int fd = agent_socket(argv[1]), one;
    if (fd < 0)
        return 1;
    printf("ready\n");
    fflush(stdout);
    while ((one = accept(fd, NULL, NULL)) >= 0) {
        converse(one, one);
        close(one);
    }
    return 1;
}
