/* FreeBSD's network interface: device.c. SPDX-License-Identifier: 0BSD */
#include <stdint.h>
#include <sys/types.h>

#include "ff_config.h"

struct ff_dpdk_if_context;
extern int device_tap; /* the TAP's file descriptor */

/* Hand the frames that have come to FreeBSD. */
void device_receive(struct ff_dpdk_if_context *interface);
