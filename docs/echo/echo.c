/* An echo server to judge a TCP stack with: echo PORT [QUEUE]

   QUEUE is the limit of pending fast opens (RFC 7413 section 5.1); 0, the default, leaves fast
   open off. It reads no more from a connection until all that it has read is written (back
   pressure), and closes when the client has closed and has everything back (half close).

   cc -O2 -Wall -o echo echo.c */

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { MOST = 8192, SIZE = 16384 };

struct connection {
	size_t start, end;
	int ended;
	char data[SIZE];
};

static struct pollfd polled[MOST + 1];
static struct connection *connections[MOST + 1];
static nfds_t count = 1;

static void die(const char *what)
{
	perror(what);
	exit(1);
}

static int listening(int port, int queue)
{
	struct sockaddr_in6 six = {.sin6_family = AF_INET6, .sin6_port = htons(port)};
	struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons(port)};
	struct sockaddr *address = (struct sockaddr *)&six;
	socklen_t size = sizeof six;
	int on = 1, off = 0, fd = socket(AF_INET6, SOCK_STREAM, 0);

	if (fd < 0) {
		address = (struct sockaddr *)&four;
		size = sizeof four;
		fd = socket(AF_INET, SOCK_STREAM, 0);
	} else {
		setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
	}
	if (fd < 0)
		die("socket");
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
	if (bind(fd, address, size))
		die("bind");
	/* Before listen(), since some kernels read it there. */
	if (queue && setsockopt(fd, IPPROTO_TCP, TCP_FASTOPEN, &queue, sizeof queue))
		die("setsockopt TCP_FASTOPEN");
	if (listen(fd, 4096))
		die("listen");
	fcntl(fd, F_SETFL, O_NONBLOCK);
	return fd;
}

static void take(void)
{
	int fd;

	while (count <= MOST && (fd = accept(polled[0].fd, NULL, NULL)) >= 0) {
		struct connection *new = calloc(1, sizeof *new);

		if (!new) {
			close(fd);
			return;
		}
		fcntl(fd, F_SETFL, O_NONBLOCK);
		polled[count] = (struct pollfd){.fd = fd, .events = POLLIN};
		connections[count++] = new;
	}
}

/* Returns 0 where the connection is over. */
static int serve(struct pollfd *at, struct connection *of)
{
	ssize_t n;

	if (of->start == of->end && !of->ended) {
		n = read(at->fd, of->data, SIZE);
		if (n < 0)
			return errno == EAGAIN || errno == EINTR;
		of->ended = n == 0;
		of->start = 0;
		of->end = n;
	}
	while (of->start < of->end) {
		n = write(at->fd, of->data + of->start, of->end - of->start);
		if (n < 0 && errno != EINTR) {
			/* What the send buffer refuses is kept, and nothing is read meanwhile. */
			at->events = POLLOUT;
			return errno == EAGAIN;
		}
		of->start += n > 0 ? n : 0;
	}
	at->events = POLLIN;
	return !of->ended;
}

int main(int argc, char **argv)
{
	if (argc < 2 || argc > 3) {
		fprintf(stderr, "usage: echo PORT [QUEUE]\n");
		return 2;
	}
	signal(SIGPIPE, SIG_IGN);
	polled[0].fd = listening(atoi(argv[1]), argc > 2 ? atoi(argv[2]) : 0);
	printf("ready\n");
	fflush(stdout);
	for (;;) {
		polled[0].events = count <= MOST ? POLLIN : 0;
		if (poll(polled, count, -1) < 0 && errno != EINTR)
			die("poll");
		for (nfds_t at = count - 1; at > 0; at--) {
			if (!polled[at].revents || serve(&polled[at], connections[at]))
				continue;
			close(polled[at].fd);
			free(connections[at]);
			polled[at] = polled[--count];
			connections[at] = connections[count];
		}
		if (polled[0].revents)
			take();
	}
}
