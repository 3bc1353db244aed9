/* Hooks for scapy-tfo, as docs/hooks.md describes them: an agent to copy, for Linux and FreeBSD.
 * Here is the protocol; apps.h has the sockets and the applications.
 *
 *     cc -O2 -o agent agent.c
 *     ./agent                 speaks on its standard input and output (hooks.command)
 *     ./agent PATH            listens on that Unix socket, and prints "ready" (hooks.socket)
 *
 * Copy both files and change them as you like. SPDX-License-Identifier: 0BSD
 */
#include "apps.h"

#include <signal.h>
#include <sys/un.h>

enum { FIRST_PORT = 10001, DEFAULT_BACKLOG = 16384, MAX_LINE = 1024, MOST_TURNS = 1000 };

#ifdef __linux__
#define VERBS "listen close sessions keys counters restart"
#define KEY_OPTION 33 /* TCP_FASTOPEN_KEY of linux/tcp.h */
#else
#define VERBS "listen close sessions restart"
#endif

static int next_port = FIRST_PORT;

/* ---- The protocol ---- */

static struct listener *find(int port)
{
    struct listener *l = listeners;
    while (l && l->port != port)
        l = l->next;
    return l;
}

static void shut(struct listener *l)
{
    for (int i = 0; i < 2; i++)
        if (l->fd[i] >= 0) {
            close(l->fd[i]);
            l->fd[i] = -1;
        }
}

static void restart(void)
{
    for (struct connection *c = connections, *next; c; c = next) {
        next = c->next;
        if (!c->ended)
            stack_reset(c->fd);
        free(c->out);
        free(c);
    }
    connections = NULL;
    for (struct listener *l; (l = listeners);) {
        shut(l);
        for (struct session *s; (s = l->first);) {
            l->first = s->next;
            free(s->received);
            free(s);
        }
        listeners = l->next;
        free(l);
    }
}

static void do_listen(FILE *to, char *app, int limit, int backlog, int port)
{
    char *size = strchr(app, ':'), *end = "";
    int name = 0;
    if (size)
        *size++ = 0;
    long bytes = size ? strtol(size, &end, 10) : 0;
    while (name < APPS && strcmp(app, app_names[name]))
        name++;
    if (name == APPS || !!size != (name >= SEND && name <= TWO_SENDS) || *end ||
        bytes < 0 || bytes > MAX_SIZE) {
        fprintf(to, "no application %s", app);
        return;
    }
#ifdef __FreeBSD__ /* there the limit is half the backlog, so the two cannot be chosen apart */
    if (limit && backlog != DEFAULT_BACKLOG) {
        fprintf(to, "no limit and backlog, each as asked for");
        return;
    }
    if (limit)
        backlog = 2 * limit;
#endif
    struct listener *l = must(calloc(1, sizeof *l));
    *l = (struct listener){.port = port ? port : next_port++, .app = name};
    l->last = &l->first;
    l->size = bytes;
    l->fd[0] = stack_listen(AF_INET, l->port, limit, backlog);
    l->fd[1] = l->fd[0] < 0 ? -1 : stack_listen(AF_INET6, l->port, limit, backlog);
    if (l->fd[0] < 0 || (l->fd[1] < 0 && errno != EAFNOSUPPORT)) {
        fprintf(to, "error %s", strerror(errno));
        shut(l);
        free(l);
        return;
    }
    l->next = listeners;
    listeners = l;
    fprintf(to, "ok %d", l->port);
}

static void do_sessions(FILE *to, struct listener *l)
{
    int more = 1, unused;
    /* What the stack has in its queues by now counts as read. */
    for (int i = 0; more && i < MOST_TURNS; i++)
        more = turn(-1, 0, &unused) > 0;
    fprintf(to, "ok");
    for (struct session *s = l->first; s; s = s->next) {
        fprintf(to, " %s,%d,%d,%s,%s,", s->peer, s->port, s->eofs, s->closed ? "closed" : "open", s->error);
        for (size_t i = 0; i < s->length; i++)
            fprintf(to, "%02x", s->received[i]);
        if (!s->length)
            fputc('-', to);
    }
}

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
#endif

static void obey(FILE *to, char *line)
{
    char word[64] = "", hex[80] = "";
    int limit, backlog, port = 0;
    struct listener *l = NULL;
    int has_port = sscanf(line, "%*63s %d", &port) == 1;
    sscanf(line, "%63s", word);
    if (!strcmp(word, "hello")) {
        fprintf(to, "ok 1 " VERBS);
    } else if (!strcmp(word, "restart")) {
        restart();
        fprintf(to, "ok");
    } else if (!strcmp(word, "listen")) {
        port = 0;
        if (sscanf(line, "listen %63s %d %d %d", word, &limit, &backlog, &port) >= 3)
            do_listen(to, word, limit, backlog, port);
        else
            fprintf(to, "error listen APP LIMIT BACKLOG [PORT]");
#ifdef __linux__
    } else if (!strcmp(word, "counters")) {
        do_counters(to);
#endif
    } else if (has_port && !(l = find(port))) {
        fprintf(to, "error no listener on port %d", port);
    } else if (l && !strcmp(word, "close")) {
        shut(l);
        fprintf(to, "ok");
    } else if (l && !strcmp(word, "sessions")) {
        do_sessions(to, l);
#ifdef __linux__
    } else if (l && sscanf(line, "keys %*d %79s", hex) == 1) {
        do_keys(to, l, hex);
#endif
    } else
        fprintf(to, "no verb %s", word);
}

/* Answer lines until the other end hangs up. */
static void converse(int in, int out)
{
    static char line[MAX_LINE];
    size_t length = 0;
    FILE *to = fdopen(dup(out), "w");
    while (to) {
        int has_line;
        turn(in, -1, &has_line);
        if (!has_line)
            continue;
        ssize_t got = read(in, line + length, sizeof line - 1 - length);
        if (got <= 0)
            break;
        length += got;
        line[length] = 0;
        for (char *end; (end = strchr(line, '\n'));) {
            *end = 0;
            obey(to, line);
            fputc('\n', to);
            length -= end + 1 - line;
            memmove(line, end + 1, length + 1);
        }
        if (fflush(to) || length == sizeof line - 1)
            break; /* nobody reads, or a line without an end */
    }
    if (to)
        fclose(to);
    restart();
}

int main(int argc, char **argv)
{
    signal(SIGPIPE, SIG_IGN);
    if (argc < 2) {
        converse(0, 1);
        return 0;
    }
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0), one;
    if (strlen(argv[1]) >= sizeof at.sun_path) {
        fprintf(stderr, "%s is too long a path\n", argv[1]);
        return 2;
    }
    strcpy(at.sun_path, argv[1]);
    unlink(argv[1]);
    if (fd < 0 || bind(fd, (void *)&at, sizeof at) || listen(fd, 1)) {
        perror(argv[1]);
        return 1;
    }
    printf("ready\n");
    fflush(stdout);
    while ((one = accept(fd, NULL, NULL)) >= 0) {
        converse(one, one);
        close(one);
    }
    return 1;
}
