/*
 * One emulator with one device under test, a wire, and the guest error log
 *
 * SPDX-License-Identifier: GPL-2.0-or-later
 */
#ifndef NCIC_FIXTURE_H
#define NCIC_FIXTURE_H

#include "libncic.h"

typedef struct Fixture {
    QTestState *qts;
    QGuestAllocator alloc;
    QPCIBus *bus;
    QPCIDevice *pci;
    QNcicWire wire;
    QNcic nic;                  /* unless another model was asked for */
    char *log;                  /* guest errors and bad accesses */
    gsize log_seen;
} Fixture;

/* Where no memory is in these machines. */
#define NOWHERE 0x0000008000000000ull

/* Starts the emulator; @props is appended to "-device ncic-nic", @more to the
 * command line. */
Fixture *fixture_start(const char *props, const char *more);
/* The same with another model, whose function the caller sets up. */
Fixture *fixture_start_model(const char *model, const char *props,
                             const char *more);
/*
 * A machine with the options @words, the device under test among them with
 * id=nic and addr=4; the fixture's wire is not used.  @incoming: it waits for
 * migration and is not looked at.
 */
Fixture *fixture_start_words(const char *words, bool incoming);
/* Look for bus and function of a machine that was waiting for migration. */
void fixture_find(Fixture *f);
void fixture_stop(Fixture *f);
/* Migrates to a new emulator, whose device has @props; it has taken over. */
Fixture *fixture_migrate(Fixture *from, const char *model, const char *props);
/* Waits until the migration of @qts has completed. */
void fixture_wait_migration(QTestState *qts);
/* The test itself as the far end of "-netdev stream,server=off": a socket that
 * listens at @path. */
int fixture_listen(const char *path);
/* Somebody connects to it. */
int fixture_accept(int fd);
/* @id goes from a machine whose bus gives up a function at reset. */
void fixture_unplug(QTestState *qts, const char *id);
/* Has the log gained a line that contains @text since the last call? */
bool fixture_logged(Fixture *f, const char *text);
/* Value of a counter, as QMP shows it. */
uint64_t fixture_counter(Fixture *f, const char *name);
/* Waits until it is at least @least, ten seconds at most. */
void fixture_wait_counter(Fixture *f, const char *name, uint64_t least);

#endif
