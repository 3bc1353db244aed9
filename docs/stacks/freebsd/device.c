/* Stands in for the half of F-Stack that is DPDK's: ff_dpdk_if.c, ff_config.c, ff_log.c and
 * ff_init.c. FreeBSD's interface is a TAP. SPDX-License-Identifier: 0BSD
 */
#define _GNU_SOURCE
#include "device.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "ff_dpdk_if.h"
#include "ff_host_interface.h"
#include "ff_veth.h"

enum { MAX_FRAME = 65536 + 64, RECEIVED_FRAME = 2048, FRAMES_AT_ONCE = 64, SHOWN_LEVEL = 6 };

struct ff_config ff_global_cfg;
int dpdk_argc;
char *dpdk_argv[DPDK_CONFIG_NUM + 1];
struct ff_dpdk_if_context {
    void *softc, *ifp;
};
int device_tap = -1;

/* ---- Frames ---- */

struct ff_dpdk_if_context *ff_dpdk_register_if(void *softc, void *ifp, struct ff_port_cfg *port)
{
    struct ff_dpdk_if_context *made = calloc(1, sizeof *made);
    (void)port;
    *made = (struct ff_dpdk_if_context){softc, ifp};
    return made;
}

void ff_dpdk_deregister_if(struct ff_dpdk_if_context *interface)
{
    free(interface);
}

void ff_dpdk_pktmbuf_free(void *frame)
{
    free(frame);
}

int ff_dpdk_if_send(struct ff_dpdk_if_context *interface, void *mbuf, int length)
{
    static uint8_t frame[MAX_FRAME];
    (void)interface;
    if (length <= MAX_FRAME && !ff_mbuf_copydata(mbuf, frame, 0, length) &&
        write(device_tap, frame, length) < 0 && errno != EAGAIN)
        perror("the TAP takes no frame");
    ff_mbuf_free(mbuf);
    return 0;
}

void device_receive(struct ff_dpdk_if_context *interface)
{
    for (int i = 0; i < FRAMES_AT_ONCE; i++) {
        uint8_t *frame = malloc(RECEIVED_FRAME);
        ssize_t length = read(device_tap, frame, RECEIVED_FRAME);
        void *mbuf = length > 0 ? ff_mbuf_gethdr(frame, length, frame, length, 0) : NULL;
        if (mbuf)
            ff_veth_process_packet(interface->ifp, mbuf);
        else
            free(frame);
        if (length <= 0)
            return;
    }
}

/* ---- Receive-side scaling: one core, so every port is ours ---- */

int ff_in_pcbladdr(uint16_t family, void *to, uint16_t port, void *from)
{
    (void)family, (void)to, (void)port, (void)from;
    return 0;
}

int ff_rss_check(void *softc, uint32_t from, uint32_t to, uint16_t sport, uint16_t dport)
{
    (void)softc, (void)from, (void)to, (void)sport, (void)dport;
    return 1;
}

int ff_rss_tbl_set_portrange(uint16_t first, uint16_t last)
{
    (void)first, (void)last;
    return 0;
}

int ff_rss_tbl_get_portrange(uint32_t from, uint32_t to, uint16_t port, uint16_t *first,
                             uint16_t *last, uint16_t **ports)
{
    (void)from, (void)to, (void)port, (void)first, (void)last, (void)ports;
    return -ENOENT;
}

/* ---- Clock and log ---- */

uint64_t ff_get_tsc_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * UINT64_C(1000000000) + now.tv_nsec;
}

int ff_vlog(uint32_t level, uint32_t type, const char *format, va_list arguments)
{
    (void)type;
    return level > SHOWN_LEVEL ? 0 : vfprintf(stderr, format, arguments);
}

int ff_log(uint32_t level, uint32_t type, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int written = ff_vlog(level, type, format, arguments);
    va_end(arguments);
    return written;
}

/* ---- Names of errors, for a libc older than 2.32 ---- */

#if defined __GLIBC__ && (__GLIBC__ < 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ < 32))
const char *strerrorname_np(int error)
{
    return strerror(error);
}
#endif
