/* The protocol of docs/hooks.md, for any stack. It stands on apps.h.
 *
 * A program that includes this file defines MORE_VERBS and more_verbs(). SPDX-License-Identifier: 0BSD
 */
#include <sys/un.h>
#include <unistd.h>

enum { FIRST_PORT = 10001, MAX_LINE = 1024, MOST_TURNS = 1000 };

/* Answer the verbs of MORE_VERBS, such as " keys". Returns 0 if this is none of them. `of` is NULL
 * for those without a port. */
static int more_verbs(FILE *to, struct listener *of, const char *word, const char *line);

static int next_port = FIRST_PORT;

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
            stack_close(l->fd[i]);
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
    if (name == APPS || !!size != (name >= SEND && name <= HALF_CLOSE) || *end ||
        bytes < 0 || bytes > MAX_SIZE) {
        fprintf(to, "no application %s", app);
        return;
    }
    struct listener *l = must(calloc(1, sizeof *l));
    *l = (struct listener){.port = port ? port : next_port++, .app = name};
    l->last = &l->first;
    l->size = bytes;
    l->fd[0] = stack_listen(AF_INET, l->port, limit, backlog);
    l->fd[1] = l->fd[0] < 0 ? -1 : stack_listen(AF_INET6, l->port, limit, backlog);
    if (l->fd[0] < 0 || (l->fd[1] < 0 && errno != EAFNOSUPPORT)) {
        if (errno == ENOTSUP)
            fprintf(to, "no limit of %d beside a backlog of %d", limit, backlog);
        else
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
    /* What the stack has in its queues by now counts as read. */
    for (int i = 0; i < MOST_TURNS && stack_turn() > 0; i++)
        ;
    fprintf(to, "ok");
    for (struct session *s = l->first; s; s = s->next) {
        fprintf(to, " %s,%d,%d,%s,%s,", s->peer, s->port, s->eofs, s->closed ? "closed" : "open", s->error);
        for (size_t i = 0; i < s->length; i++)
            fprintf(to, "%02x", s->received[i]);
        if (!s->length)
            fputc('-', to);
    }
}

/* Answer one line, without its end. */
static void obey(FILE *to, char *line)
{
    char word[64] = "";
    int limit, backlog, port = 0;
    struct listener *l = NULL;
    int has_port = sscanf(line, "%*63s %d", &port) == 1;
    sscanf(line, "%63s", word);
    if (!strcmp(word, "hello")) {
        fprintf(to, "ok 1 listen close sessions restart" MORE_VERBS);
    } else if (!strcmp(word, "restart")) {
        restart();
        fprintf(to, "ok");
    } else if (!strcmp(word, "listen")) {
        port = 0;
        if (sscanf(line, "listen %63s %d %d %d", word, &limit, &backlog, &port) >= 3)
            do_listen(to, word, limit, backlog, port);
        else
            fprintf(to, "error listen APP LIMIT BACKLOG [PORT]");
    } else if (has_port && !(l = find(port))) {
        fprintf(to, "error no listener on port %d", port);
    } else if (l && !strcmp(word, "close")) {
        shut(l);
        fprintf(to, "ok");
    } else if (l && !strcmp(word, "sessions")) {
        do_sessions(to, l);
    } else if (!more_verbs(to, l, word, line))
        fprintf(to, "no verb %s", word);
}

/* Answer what came on `in`. Returns 0 when the other end hung up. */
static int answer_lines(int in, FILE *to)
{
    static char line[MAX_LINE];
    static size_t length;
    ssize_t got = read(in, line + length, sizeof line - 1 - length);
    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 1;
    if (got > 0) {
        length += got;
        line[length] = 0;
        for (char *end; (end = strchr(line, '\n'));) {
            *end = 0;
            obey(to, line);
            fputc('\n', to);
            length -= end + 1 - line;
            memmove(line, end + 1, length + 1);
        }
        if (!fflush(to) && length < sizeof line - 1)
            return 1;
    }
    length = 0; /* the end, nobody reads, or a line without an end */
    restart();
    return 0;
}

/* A Unix socket that listens on that path, or -1 after a word on stderr. */
static int agent_socket(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);
    if (strlen(path) >= sizeof at.sun_path) {
        fprintf(stderr, "%s is too long a path\n", path);
        return -1;
    }
    strcpy(at.sun_path, path);
    unlink(path);
    if (fd < 0 || bind(fd, (void *)&at, sizeof at) || listen(fd, 1)) {
        perror(path);
        return -1;
    }
    return fd;
}
