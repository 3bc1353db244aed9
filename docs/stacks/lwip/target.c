/* lwIP as a target of scapy-tfo, with the hooks of docs/hooks.md. It has no fast open, so its agent
 * answers "no" where a listener is to have a limit of pending fast opens.
 *
 *     target TAP SOCKET
 *
 * It is 10.77.0.2 and fd77::2 on that TAP, and prints "ready".
 * SPDX-License-Identifier: 0BSD
 */
#include "apps.h"

#define MORE_VERBS ""
#include "verbs.h"

#include "../userspace.h"
#include "lwip/etharp.h"
#include "lwip/ethip6.h"
#include "lwip/init.h"
#include "lwip/tcp.h"
#include "lwip/timeouts.h"
#include "netif/ethernet.h"

enum { MAX_SLOTS = 1 << 14, MAX_BACKLOG = 255, MAX_FRAME = 2048, FRAMES_AT_ONCE = 64 };
enum { LONGEST_WAIT = 100 }; /* milliseconds */

static int tap = -1;

/* ---- The stack, for apps.h: a slot stands for what is a descriptor elsewhere ---- */

static struct slot {
    struct tcp_pcb *pcb;    /* NULL once the connection is gone */
    struct pbuf *received;  /* not yet read */
    struct connection *serves;
    int used, listener, eof, error, has_news, accepted_by;
} slots[MAX_SLOTS];
static int news[MAX_SLOTS], news_count;

static int new_slot(struct tcp_pcb *pcb)
{
    static int last;
    for (int i = 0; i < MAX_SLOTS; i++) {
        last = (last + 1) % MAX_SLOTS;
        if (!slots[last].used && !slots[last].has_news) {
            slots[last] = (struct slot){.pcb = pcb, .used = 1};
            return last;
        }
    }
    return -1;
}

static void tell(struct slot *of)
{
    if (!of->has_news)
        news[news_count++] = of - slots;
    of->has_news = 1;
}

static err_t on_received(void *at, struct tcp_pcb *pcb, struct pbuf *data, err_t error)
{
    struct slot *of = at;
    (void)pcb, (void)error;
    if (!data)
        of->eof = 1;
    else if (of->received)
        pbuf_cat(of->received, data);
    else
        of->received = data;
    tell(of);
    return ERR_OK;
}

static err_t on_sent(void *at, struct tcp_pcb *pcb, u16_t length)
{
    (void)pcb, (void)length;
    tell(at);
    return ERR_OK;
}

static void on_error(void *at, err_t error)
{
    struct slot *of = at;
    of->pcb = NULL; /* lwIP has freed it */
    of->error = error == ERR_RST ? ECONNRESET : ETIMEDOUT;
    tell(of);
}

static err_t on_accept(void *at, struct tcp_pcb *pcb, err_t error)
{
    int fd = error || !pcb ? -1 : new_slot(pcb);
    if (fd < 0)
        return ERR_MEM;
    slots[fd].accepted_by = (struct slot *)at - slots;
    tcp_arg(pcb, slots + fd);
    tcp_recv(pcb, on_received);
    tcp_sent(pcb, on_sent);
    tcp_err(pcb, on_error);
    tcp_nagle_disable(pcb);
    tell(slots + fd);
    return ERR_OK;
}

static int stack_listen(int family, int port, int limit, int backlog)
{
    if (limit) {
        errno = ENOTSUP;
        return -1;
    }
    struct tcp_pcb *pcb = tcp_new_ip_type(family == AF_INET ? IPADDR_TYPE_V4 : IPADDR_TYPE_V6), *listening;
    int fd = pcb ? new_slot(pcb) : -1;
    if (fd < 0 || tcp_bind(pcb, family == AF_INET ? IP4_ADDR_ANY : IP6_ADDR_ANY, port) ||
        !(listening = tcp_listen_with_backlog(pcb, backlog > MAX_BACKLOG ? MAX_BACKLOG : backlog))) {
        if (fd >= 0)
            slots[fd].used = 0;
        if (pcb)
            tcp_close(pcb);
        errno = EADDRINUSE;
        return -1;
    }
    slots[fd].pcb = listening;
    slots[fd].listener = 1;
    tcp_arg(listening, slots + fd);
    tcp_accept(listening, on_accept);
    return fd;
}

static ssize_t stack_read(int fd, void *to, size_t room)
{
    struct slot *of = slots + fd;
    if (!of->received) {
        errno = of->error ? of->error : EAGAIN;
        return of->eof ? 0 : -1;
    }
    u16_t most = room > UINT16_MAX ? UINT16_MAX : room;
    u16_t length = pbuf_copy_partial(of->received, to, most, 0);
    of->received = pbuf_free_header(of->received, length);
    if (of->pcb)
        tcp_recved(of->pcb, length);
    return length;
}

static ssize_t stack_write(int fd, const void *data, size_t length)
{
    struct slot *of = slots + fd;
    if (!of->pcb) {
        errno = of->error ? of->error : EPIPE;
        return -1;
    }
    if (length > tcp_sndbuf(of->pcb))
        length = tcp_sndbuf(of->pcb);
    if (!length || tcp_write(of->pcb, data, length, TCP_WRITE_FLAG_COPY)) {
        errno = EAGAIN; /* on_sent() tells when there is room again */
        return -1;
    }
    tcp_output(of->pcb);
    return length;
}

/* tcp_abort() is safe here and below: the applications run between lwIP's calls, in stack_turn(), and never in
 * one of its callbacks, which would have to return ERR_ABRT. It calls on_error(). */
static void stack_shutdown(int fd)
{
    struct tcp_pcb *pcb = slots[fd].pcb;
    if (pcb && tcp_shutdown(pcb, 0, 1))
        tcp_abort(pcb); /* no memory for a FIN */
}

/* Nothing is heard of the connection any more. */
static struct tcp_pcb *let_go(int fd)
{
    struct slot *of = slots + fd;
    struct tcp_pcb *pcb = of->pcb;
    if (pcb && !of->listener) {
        tcp_arg(pcb, NULL);
        tcp_recv(pcb, NULL);
        tcp_sent(pcb, NULL);
        tcp_err(pcb, NULL);
    }
    if (of->received)
        pbuf_free(of->received);
    of->received = NULL;
    of->serves = NULL;
    of->used = 0;
    return pcb;
}

static void stack_close(int fd)
{
    struct tcp_pcb *pcb = let_go(fd);
    if (pcb && tcp_close(pcb))
        tcp_abort(pcb); /* no memory for a FIN */
}

static void stack_reset(int fd)
{
    struct tcp_pcb *pcb = let_go(fd);
    if (pcb)
        tcp_abort(pcb);
}

static void begin(int fd)
{
    struct slot *of = slots + fd;
    struct sockaddr_storage from = {0};
    struct sockaddr_in *four = (void *)&from;
    struct sockaddr_in6 *six = (void *)&from;
    struct listener *l = listeners;
    while (l && l->fd[0] != of->accepted_by && l->fd[1] != of->accepted_by)
        l = l->next;
    if (!l || !of->pcb) { /* the listener is closed, or the connection is over already */
        stack_reset(fd);
        return;
    }
    if (IP_IS_V4_VAL(of->pcb->remote_ip)) {
        from.ss_family = AF_INET;
        four->sin_port = htons(of->pcb->remote_port);
        memcpy(&four->sin_addr, &ip_2_ip4(&of->pcb->remote_ip)->addr, sizeof four->sin_addr);
    } else {
        from.ss_family = AF_INET6;
        six->sin6_port = htons(of->pcb->remote_port);
        memcpy(&six->sin6_addr, ip_2_ip6(&of->pcb->remote_ip)->addr, sizeof six->sin6_addr);
    }
    greet(l, fd, &from);
    if (!connections->ended)
        of->serves = connections;
}

static int stack_turn(void)
{
    int found = news_count;
    for (int i = 0; i < found; i++) {
        struct slot *of = slots + news[i];
        of->has_news = 0;
        if (of->serves)
            serve(of->serves);
        else if (of->used)
            begin(news[i]);
    }
    memmove(news, news + found, (news_count - found) * sizeof *news);
    news_count -= found;
    if (found)
        forget_ended();
    return found;
}

static int more_verbs(FILE *to, struct listener *of, const char *word, const char *line)
{
    (void)to, (void)of, (void)word, (void)line;
    return 0;
}

/* ---- The interface ---- */

u32_t sys_now(void)
{
    return now_ns() / 1000000;
}

unsigned int lwip_port_rand(void)
{
    return rand();
}

static err_t send_frame(struct netif *interface, struct pbuf *data)
{
    static unsigned char frame[MAX_FRAME];
    u16_t length = pbuf_copy_partial(data, frame, sizeof frame, 0);
    (void)interface;
    return write(tap, frame, length) == length ? ERR_OK : ERR_IF;
}

static void receive_frames(struct netif *interface)
{
    static unsigned char frame[MAX_FRAME];
    for (int i = 0; i < FRAMES_AT_ONCE; i++) {
        ssize_t length = read(tap, frame, sizeof frame);
        if (length <= 0)
            return;
        struct pbuf *data = pbuf_alloc(PBUF_RAW, length, PBUF_POOL);
        if (data && !pbuf_take(data, frame, length) && interface->input(data, interface) == ERR_OK)
            continue;
        if (data)
            pbuf_free(data);
    }
}

static err_t set_up(struct netif *interface)
{
    interface->name[0] = 't';
    interface->name[1] = 'p';
    interface->mtu = 1500;
    interface->hwaddr_len = ETH_HWADDR_LEN;
    memcpy(interface->hwaddr, "\x02\x00\x00\x77\x00\x06", ETH_HWADDR_LEN);
    interface->flags = NETIF_FLAG_BROADCAST | NETIF_FLAG_ETHARP | NETIF_FLAG_ETHERNET |
                       NETIF_FLAG_MLD6; /* or it does not hear who asks for its IPv6 address */
    interface->output = etharp_output;
    interface->output_ip6 = ethip6_output;
    interface->linkoutput = send_frame;
    return ERR_OK;
}

static void start(struct netif *interface)
{
    ip4_addr_t address, mask, gateway;
    ip6_addr_t six;
    srand(now_ns());
    lwip_init();
    IP4_ADDR(&address, 10, 77, 0, 2);
    IP4_ADDR(&mask, 255, 255, 255, 0);
    IP4_ADDR(&gateway, 0, 0, 0, 0);
    netif_add(interface, &address, &mask, &gateway, NULL, set_up, ethernet_input);
    netif_set_default(interface);
    ip6addr_aton("fd77::2", &six);
    netif_ip6_addr_set(interface, 0, &six);
    netif_ip6_addr_set_state(interface, 0, IP6_ADDR_PREFERRED);
    netif_set_link_up(interface);
    netif_set_up(interface);
}

int main(int argc, char **argv)
{
    static struct netif interface;
    int agent;
    if (argc != 3) {
        fprintf(stderr, "usage: target TAP SOCKET\n");
        return 2;
    }
    signal(SIGPIPE, SIG_IGN);
    if ((tap = tap_open(argv[1])) < 0 || (agent = agent_socket(argv[2])) < 0)
        return 1;
    start(&interface);
    printf("ready\n");
    fflush(stdout);
    for (;;) {
        u32_t wait = sys_timeouts_sleeptime(); /* milliseconds */
        wait_and_answer(tap, agent, (wait > LONGEST_WAIT ? LONGEST_WAIT : wait) * UINT64_C(1000000));
        receive_frames(&interface);
        while (stack_turn())
            ;
        sys_check_timeouts();
        while (stack_turn())
            ;
    }
}
