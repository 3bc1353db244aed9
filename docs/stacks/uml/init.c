/* The first and only program of a user-mode Linux: sets up its network and runs echo servers.
 *
 * Words of the kernel's command line: address=10.77.0.2 address6=fd77::2 iface=vec0.
 * It prints "stack ready" when all of them listen. */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define COUNT(list) (sizeof(list) / sizeof *(list))

/* In the order in which they need each other; a kernel that has one built in has no such file. */
static const char *const modules[] = {"/mod/crc-ccitt.ko", "/mod/ipv6.ko"};

static const char *const settings[][2] = {
	{"net/ipv4/tcp_fastopen", "3"},
	{"net/core/somaxconn", "4096"},
	{"net/ipv4/tcp_max_syn_backlog", "4096"},
	{"net/ipv6/conf/all/accept_dad", "0"},
	{"net/ipv6/conf/default/accept_dad", "0"},
	{"net/ipv6/conf/vec0/accept_dad", "0"},
};

/* Port and pending fast opens: main, plain, second, small. */
static const char *const listeners[][2] = {{"7", "4096"}, {"8", "0"}, {"9", "4096"}, {"10", "4"}};

static void complain(const char *what)
{
	printf("init: %s: %s\n", what, strerror(errno));
}

static void write_setting(const char *name, const char *value)
{
	char path[128];
	snprintf(path, sizeof path, "/proc/sys/%s", name);
	int file = open(path, O_WRONLY);
	if (file < 0 || write(file, value, strlen(value)) < 0)
		complain(name);
	if (file >= 0)
		close(file);
}

static void load(const char *path)
{
	int file = open(path, O_RDONLY | O_CLOEXEC);
	if (file < 0)
		return;
	if (syscall(SYS_finit_module, file, "", 0))
		complain(path);
	close(file);
}

/* The value of a word of the kernel's command line: the kernel hands them over as environment. */
static const char *word(const char *name, const char *otherwise)
{
	const char *value = getenv(name);
	return value ? value : otherwise;
}

static void bring_up(int control, struct ifreq *request)
{
	if (ioctl(control, SIOCGIFFLAGS, request))
		complain(request->ifr_name);
	request->ifr_flags |= IFF_UP;
	if (ioctl(control, SIOCSIFFLAGS, request))
		complain(request->ifr_name);
}

static void network(const char *iface)
{
	struct ifreq request = {0};
	struct sockaddr_in *address = (struct sockaddr_in *)&request.ifr_addr;
	struct {
		struct in6_addr address;
		uint32_t bits;
		int index;
	} six = {.bits = 64};
	int control = socket(AF_INET, SOCK_DGRAM, 0);

	strcpy(request.ifr_name, "lo");
	bring_up(control, &request);
	strncpy(request.ifr_name, iface, IFNAMSIZ - 1);
	address->sin_family = AF_INET;
	inet_pton(AF_INET, word("address", "10.77.0.2"), &address->sin_addr);
	if (ioctl(control, SIOCSIFADDR, &request))
		complain("address");
	inet_pton(AF_INET, "255.255.255.0", &address->sin_addr);
	if (ioctl(control, SIOCSIFNETMASK, &request))
		complain("mask");
	bring_up(control, &request);
	close(control);

	control = socket(AF_INET6, SOCK_DGRAM, 0);
	if (control < 0)
		return;
	inet_pton(AF_INET6, word("address6", "fd77::2"), &six.address);
	six.index = if_nametoindex(iface);
	if (ioctl(control, SIOCSIFADDR, &six))
		complain("address6");
	close(control);
}

/* Start an echo server, and wait until it has said that it listens. */
static void serve(const char *port, const char *queue)
{
	char said[16];
	int ends[2];
	if (pipe(ends))
		complain("pipe");
	if (!fork()) {
		dup2(ends[1], 1);
		close(ends[0]);
		execl("/echo", "echo", port, queue, (char *)0);
		_exit(127);
	}
	close(ends[1]);
	if (read(ends[0], said, sizeof said) <= 0)
		complain("echo");
	/* Its end stays open: nobody gets SIGPIPE. */
}

int main(void)
{
	struct utsname kernel;
	setvbuf(stdout, NULL, _IONBF, 0);
	mkdir("/proc", 0755);
	if (mount("proc", "/proc", "proc", 0, NULL))
		complain("/proc");
	for (size_t at = 0; at < COUNT(modules); at++)
		load(modules[at]);
	for (size_t at = 0; at < COUNT(settings); at++)
		write_setting(settings[at][0], settings[at][1]);
	network(word("iface", "vec0"));
	for (size_t at = 0; at < COUNT(listeners); at++)
		serve(listeners[at][0], listeners[at][1]);
	uname(&kernel);
	printf("stack ready: %s %s\n", kernel.sysname, kernel.release);
	for (;;)
		if (wait(NULL) < 0)
			pause();
}
