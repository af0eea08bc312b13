/*
 * ubc, the UB controller as a PCIe function: state of the shell.
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef HW_UB_UBC_PCI_H
#define HW_UB_UBC_PCI_H

#include "chardev/char-fe.h"
#include "hw/pci/pci_device.h"
#include "qapi/qapi-types-ub.h"
#include "qemu/thread.h"
#include "qom/object.h"
#include "system/hostmem.h"
#include "system/iothread.h"
#include "core/pci_master.h"
#include "core/props.h"
#include "ub/capture.h"
#include "ub/ubc.h"
#include "look.h"
#include "ubc-pci-dll.h"
#include "ubc-pci-engine.h"
#include "ubc-pci-ethernet.h"
#include "ubc-pci-phy.h"
#include "ubc-pci-ummu.h"
#include "ubc-pci-window.h"
#include "wire/chr.h"
#include "wire/stream.h"

#define TYPE_UBC "ubc"
OBJECT_DECLARE_SIMPLE_TYPE(UbcPci, UBC)

/* Doorbells of all ring pairs. */
#define UBC_BELLS (UBC_PAIRS * 4)

typedef struct UbcWire {
    UbcPci *ubc;
    unsigned index;
    CharFrontend chr;
    WireChr *chr_wire; /* NULL: there is no character device */
    bool open;         /* the core was told that the stream is there */
} UbcWire;

/* A link, as the last event has it. */
typedef struct UbcLinkTold {
    bool link_up, packets_pass;
    uint8_t rate, tx_width, rx_width;
} UbcLinkTold;

/* News for a monitor that are told now and then. */
typedef struct UbcNews {
    QEMUBH *bh;         /* in the main loop */
    QEMUTimer *timer;
    int64_t next;       /* not before, in milliseconds of the host */
    bool (*tell)(UbcPci *s);
    UbcPci *owner;
} UbcNews;

/* What BAR0 may write of the configuration space: all, or CFG1. */
typedef enum UbcRights {
    UBC_RIGHTS_MANAGER, UBC_RIGHTS_USER,
} UbcRights;

struct UbcPci {
    PCIDevice parent_obj;
    PciMaster master;

    MemoryRegion bar, pages, window;
    UbcWire port[UBC_MAX_PORTS];
    UbcEtherNic ether;

    /* The core and all of its state; vCPUs and the IOThread meet here.  Taken
     * inside the BQL; never the other way round, so DMA goes to RAM only. */
    QemuMutex lock;
    Ubc *ubc;
    /* Doorbells that nobody has taken yet; no lock is needed for them. */
    uint32_t rung_words; /* of the following, which to look at */
    uint32_t rung[UBC_BELLS / 32];
    uint32_t bell[UBC_BELLS];
    bool holds;        /* what kicks now is noted, and may have its turn at once */
    bool kicked;       /* it did */
    /* A processor that polls without a pause has the core's turns itself: nobody else
     * is woken.  By the host's clock. */
    UbcLook look;
    int64_t due;       /* when the core has something to do, by its own clock */
    bool due_looked;   /* no timer is set for it: the next look finds it */
    QEMUTimer *look_timer;
    /* Turns that doorbells and looks had in a processor's thread, and the core's own
     * thread. */
    uint64_t inline_turns, look_turns, thread_turns;
    QemuCond window_cond;    /* an access to the window has ended */
    unsigned window_waiting; /* threads that wait for it */
    bool window_nested;      /* one runs the main loop meanwhile */
    uint32_t irqs[UBC_VECTORS / 32]; /* vectors to send; no lock is needed for them */

    AioContext *ctx;   /* where the core runs */
    QEMUBH *run_bh;
    QEMUBH *irq_bh;    /* in the main loop, as the next */
    UbcNews link_news; /* what changed about the links */
    UbcLinkTold told[UBC_MAX_PORTS];
    UbcNews slot_news; /* the same of slots */
    uint32_t slots_changed;
    WireStream *responder;  /* NULL: nobody speaks for the node */
    QEMUBH *responder_bh;   /* gives it its frames */
    QEMUTimer *timer;
    QEMUTimer *stopped_timer; /* the same while the machine is stopped */
    VMChangeStateEntry *vm_change;
    bool vm_running;
    /* The link's clock goes on while the machine's stands: since when it does
     * (-1: it runs) and how long it did before, in the host's time. */
    int64_t stopped_at, stopped_for;
    UbCapture *capture; /* NULL: off */

    /* Properties. */
    UbcConfig cfg;
    UbcPhyProps phy;
    uint32_t ports;
    uint32_t dll_time_scale;
    uint32_t err_severity;
    uint32_t err_info;
    uint32_t eid_upi;
    uint32_t init_credit;
    UbcDllProps dll;
    UbcEngineProps engine;
    UbNodeConfig options;       /* of ub/node_options.h, and nothing else */
    UbcWindowProps window_props;
    UbcUmmuProps ummu;
    char *guid, *eid, *fm_eid;
    char *entities, *slots;
    int rights;                 /* UbcRights */
    uint32_t slot_settle, slot_hold;
    CharFrontend responder_chr;
    char *responder_kinds;
    HostMemoryBackend *memory[UBC_MAX_ENTITIES]; /* of memory Entities */
    uint8_t usi;
    bool bus_en;
    uint32_t cna, fm_cna, port_cna;
    uint16_t upi;
    bool manager, forward, guard, channels_managed;
    int npi_mode;               /* UbNpiMode */
    char *npis;
    uint32_t npi;
    uint32_t route_entries, mgmt_timeout;
    uint16_t vendor_id, device_id;
    char *pcap;
    bool pcap_blocks;
    bool shm;
    bool inline_turn;
    IOThread *iothread;
    UbcClock clock_kind;
    QEMUClockType clock;

    /* Migration. */
    uint32_t blob_len;
    uint8_t *blob;
};

/* Time of the link: that of the machine, and on while it is stopped, so that a
 * peer whose machine runs does not take us for dead.  Under the lock. */
static inline int64_t ubc_pci_now(const UbcPci *s)
{
    int64_t stopped = s->stopped_at < 0 ? 0 :
                      qemu_clock_get_ns(QEMU_CLOCK_REALTIME) - s->stopped_at;

    return qemu_clock_get_ns(s->clock) + s->stopped_for + stopped;
}

/* What messages call the device. */
const char *ubc_pci_id(const UbcPci *s);
/* Whether rings may be served: bus mastering, and the machine runs. */
void ubc_pci_update_master(UbcPci *s);

/* Under the lock, in the core's thread or, if that is the main loop's, with the BQL, or
 * where ubc_pci_bell_turn() may: the core has a turn, and its timer is set. */
void ubc_pci_turn(UbcPci *s, int64_t now);
/* Under the lock: what kicks the core from here on does not ask for a turn yet; whoever
 * lets go asks, unless there was one meanwhile. */
void ubc_pci_hold(UbcPci *s);
void ubc_pci_let_go(UbcPci *s);

/* ---- ubc-pci-bell.c ---- */
/* A write to a doorbell: noted, and the run that it asks for is under way.
 * False: it is none. */
bool ubc_pci_bell(UbcPci *s, hwaddr addr, uint64_t value);
/* A doorbell has rung, in an access that may let go of the BQL: the core has its turn at
 * once if it rests, nobody else is at work and the thread may do all that a turn does; else
 * soon. */
void ubc_pci_bell_turn(UbcPci *s);
/* Software found nothing in a completion queue and polls on, in such an access: what came
 * and what it asked for has its turn now.  When it has done so for a while (look.h) nothing
 * wakes the core's thread, which looks after it now and then. */
void ubc_pci_bell_look(UbcPci *s);
/* Under the lock: whether any thread may have the core's turns, without the big lock. */
bool ubc_pci_anybodys_turn(const UbcPci *s);
/* The same, where it may, in one that waits for *ended: for a while it has them, and peers
 * wake nobody.  The lock is given up now and then. */
void ubc_pci_wait_look(UbcPci *s, const bool *ended);
/* The core's thread: whether a processor still polls; else work goes on as ever. */
void ubc_pci_look_over(void *opaque);
/* Under the lock, before a turn: doorbells that rang count; and what time it is then. */
int64_t ubc_pci_bells(UbcPci *s);
/* The lock, and so do they. */
int64_t ubc_pci_lock(UbcPci *s);
/* The same, and ubc_run() follows. */
int64_t ubc_pci_lock_run(UbcPci *s);

/* ---- ubc-pci-engine.c ---- */
/* BAR2. */
void ubc_pci_engine_bar(UbcPci *s);
/* For the core. */
void ubc_pci_queue_trace(void *opaque, UbUrmaTrace what, uint32_t id,
                         uint32_t a, uint32_t b);

/* ---- ubc-pci-ethernet.c ---- */
/* First of all; whatever follows, _free() is the end. */
bool ubc_pci_ethernet_check(UbcPci *s, Error **errp);
/* The NIC, if a netdev is named; the core is there. */
void ubc_pci_ethernet_new(UbcPci *s);
/* Takes the NIC away, and no lock is held: nothing comes, what the core sends is lost.
 * The core may still run. */
void ubc_pci_ethernet_leave(UbcPci *s);
/* The core runs no more, or never did. */
void ubc_pci_ethernet_free(UbcPci *s);
/* For the core. */
bool ubc_pci_ethernet_send(void *opaque, const uint8_t *frame, uint32_t len);
bool ubc_pci_ethernet_room(void *opaque);
/* The faults of its properties are in force. */
void ubc_pci_ethernet_fault(UbcPci *s, bool out);

/* ---- ubc-pci-fault.c ---- */
void ubc_pci_fault_props(ObjectClass *klass);
/* The faults of its properties are in force. */
void ubc_pci_fault_apply(UbcPci *s, bool out);

/* ---- ubc-pci-memory.c ---- */
/* The memory of an Entity is that of backend @id. */
bool ubc_pci_memory_find(UbcPci *s, unsigned entity, const char *id,
                         Error **errp);
/* What was found is the device's, and is not any more. */
void ubc_pci_memory_take(UbcPci *s);
void ubc_pci_memory_leave(UbcPci *s);
/* For the core. */
void ubc_pci_memory(void *opaque, unsigned entity, uint64_t at, void *buf,
                    uint32_t len, bool write);

/* ---- ubc-pci-window.c ---- */
/* BAR4, if there is a window, and what it needs. */
void ubc_pci_window_bar(UbcPci *s);
/* Nobody waits any longer; before the device goes. */
void ubc_pci_window_leave(UbcPci *s);
void ubc_pci_window_exit(UbcPci *s);
/* Whether this thread is in an access of a processor's own, or of a test's, and not in one
 * that a device makes: it holds nothing but the BQL. */
bool ubc_pci_first_hand(const UbcPci *s);
/* For the core. */
void ubc_pci_window_ended(void *opaque, UbLdsWait *w);

/* ---- ubc-pci-responder.c ---- */
bool ubc_pci_responder_configure(UbcPci *s, UbcConfig *c, Error **errp);
/* The stream of the program that speaks for the node, if there is to be one; in
 * the main loop. */
void ubc_pci_responder_new(UbcPci *s);
void ubc_pci_responder_free(UbcPci *s);
/* For the core. */
void ubc_pci_responder_frame(void *opaque);

/* ---- ubc-pci-wire.c ---- */
/* A wire for each port that has a character device. */
void ubc_pci_wires_new(UbcPci *s, GMainContext *gctx);
/* Under the lock: whether any thread may send, since no character device takes part. */
bool ubc_pci_wires_shared(const UbcPci *s);
/* Under the lock: what is in the shared memory of the wires is taken; @again: until a look
 * without it their other ends wake nobody. */
void ubc_pci_wires_look(UbcPci *s, bool again);
/* In the core's thread: they do again. */
void ubc_pci_wires_wake(UbcPci *s);
/* In the IOThread, if there is one: a bottom half. */
void ubc_pci_wires_free(void *opaque);
/* For the core. */
size_t ubc_pci_wire_send(void *opaque, unsigned port, const uint8_t *data,
                         size_t len);
void ubc_pci_wire_close(void *opaque, unsigned port);
void ubc_pci_peer_error(void *opaque, unsigned port, const char *what);

/* ---- ubc-pci-props.c ---- */
/* 32 hexadecimal digits, most significant first; false: they are not. */
bool ubc_pci_parse_guid(const char *text, uint8_t guid[16]);
void ubc_pci_props_init(ObjectClass *klass);
/* Those that the ends of a migration must agree on. */
/* Filled in with the class. */
extern CoreProps ubc_core_props;
/* s->cfg and what else follows from properties; false: *errp says why not. */
bool ubc_pci_configure(UbcPci *s, Error **errp);

/* ---- ubc-pci-capture.c ---- */
/* Begin, if a file is named; `ops` gets the callbacks. */
bool ubc_pci_capture_start(UbcPci *s, UbcOps *ops, Error **errp);
void ubc_pci_capture_flush(UbcPci *s);

/* ---- ubc-pci-news.c ---- */
/* @tell is called in the main loop for what changed; false: the core is busy, and it is
 * to be called again.  It may be for as long as a reader of its capture likes, and the
 * monitor does not wait for that. */
void ubc_pci_news_init(UbcNews *n, bool (*tell)(UbcPci *s), UbcPci *s);
void ubc_pci_news_free(UbcNews *n);
/* There are some; from any thread. */
void ubc_pci_news(UbcNews *n);

/* ---- ubc-pci-save.c ---- */
extern const VMStateDescription ubc_pci_vmstate;

/* ---- ubc-qmp.c ---- */
/* By id or QOM path; NULL and an error if there is none. */
UbcPci *ubc_pci_find(const char *device, Error **errp);
/* Send the events of links that changed. */
bool ubc_pci_tell_links(UbcPci *s);

/* ---- ubc-qmp-slot.c ---- */
/* Send the events of slots that changed. */
bool ubc_pci_tell_slots(UbcPci *s);

/* ---- ubc-qmp-engine.c ---- */
/* The state of its engine, in words. */
void ubc_pci_engine_text(UbcPci *s, GString *buf);

/* ---- ubc-qmp-ethernet.c ---- */
/* The state of its Ethernet port, if there is one, in words. */
void ubc_pci_ethernet_text(UbcPci *s, GString *buf);

/* The monitor's view: each realised controller. */
void ubc_pci_foreach(void (*fn)(UbcPci *s, void *opaque), void *opaque);

#endif
