# SPDX-License-Identifier: GPL-2.0-or-later
"""URMA between two booted guests: our module, our provider, the real link."""

from guestvm import tap, ublink
from guestvm.urmacase import (DRIVE, HOSTS, LANES, OverGateway, OverIpv4,
                              ThreeGuests, TwoGuests)

CLASS = '/sys/class/ubcore/ubc0'
EID = 4 * 0x12      # its lowest dword, in the configuration space
EQ_2 = 0x30080       # registers of event queue 2, which no driver has,
EQ_ON = 0x1 | 0x2    # for faults of the device, too
# Mb/s of a lane: the library's code for the speed that it reaches.
SPEEDS = {106250: 10, 53125: 9, 25781: 7, 2578: 3}


def carriers(guest):
    """By priority."""
    return guest.out(f'for i in $(seq 0 15); do cat {CLASS}/priority/'
                     'priority$i/tp_type; done').split()


class Urma(TwoGuests):
    @classmethod
    def wired(cls, guest, number):
        super().wired(guest, number)
        guest.append += ' iomem=relaxed'    # for registers by /dev/mem

    def test_1_sysfs(self):
        """the public library finds the device and what it can do"""
        def show(name):
            return self.right.out(f'cat {CLASS}/{name}')

        self.assertEqual(show('ubdev'), 'ubc0')
        self.assertEqual(show('driver_name'), 'ubc')
        self.assertEqual(show('transport_type'), '0')
        self.assertEqual(show('device/vendor'), '0x1234')
        self.assertEqual(show('device/device'), '0x0b01')
        # What urma_admin lists: of each priority its SL, and a carrier.
        self.assertEqual(len(show('priority/priority*/sl').split()), 16)
        self.assertEqual(carriers(self.right), ['1'] * 8 + ['2'] * 8)
        self.assertEqual(show('eids/eid0'), 'fd00:' + '0000:' * 6 + '0002')
        self.assertEqual(show('port0/state'), '4')
        # What the link trained to: a lane of 106.25 Gb/s is one of 100.
        lanes = int(show('port0/active_width'))
        self.assertEqual(lanes, LANES)
        total = int(self.right.out(f'cat /sys/class/net/{self.right.dev}/speed'))
        self.assertEqual(show('port0/active_speed'),
                         str(SPEEDS[total // lanes]))
        self.assertEqual(show('trans_mode'), '7')
        self.assertEqual(show('max_jetty_in_jetty_grp'), '32')
        # Programs name as many remote elements as local ones, and where the
        # notification goes.
        self.assertEqual(int(show('max_jfs_rsge')),
                         int(show('max_jfs_sge')) + 1)
        self.assertGreaterEqual(int(show('max_jfc_depth')), 4096)
        self.assertEqual(
            self.right.out('stat -c %a /dev/uburma/ubc0'), '666')

    def test_2_self(self):
        """one guest with itself, without a link"""
        self.drive('rm', 'ctp', 'rc', 'um', 'simplex', 'events', 'limit',
                   'states', 'many', 'flush', 'control', 'group', host='self')
        self.check_kernels()

    def test_3_rm(self):
        """RM over RTP: every operation, every byte, across the link"""
        # Of 20 bytes each; rings have no part in it.
        before = ublink.counters(self.left)['rx_flits']
        self.drive('rm', 'simplex')
        self.assertGreater(ublink.counters(self.left)['rx_flits'],
                           before + 200000)

    def test_3b_modes(self):
        """CTP, RC and UM across the link"""
        self.drive('ctp', 'rc', 'um')

    def test_4_refused(self):
        """wrong token, range, right, unregistered and revoked memory"""
        self.drive('refused', 'rights')

    def test_5_events(self):
        """poll(2) on descriptors; limits; states"""
        self.drive('events', 'limit', 'errors', 'states', 'flush', 'control')
        self.check_kernels()

    def test_5b_mutual(self):
        """messages wait for entries, and answers, or come back; both sides flood one another"""
        self.drive('patient', 'hurried', 'mutual')
        self.check_kernels()

    def test_5c_large(self):
        """1 B to 64 MiB, not aligned, of many elements and into many"""
        self.drive('large')

    def test_5d_thousand(self):
        """a thousand jetties on either side, which share a JFR and a JFC"""
        self.drive('thousand')
        self.check_kernels()

    def test_6_killed(self):
        """kill -9 under traffic: all is cleaned up, and the peer goes on"""
        for _ in range(3):
            flood = self.flood(60)
            self.right.run('kill -9 $(pidof urma-drive)')
            flood.wait(check=False)
        self.drive('rm')
        self.check_kernels()

    def test_6b_server_killed(self):
        """the target is killed under traffic: requests fail, nothing hangs"""
        flood = self.flood(120)
        self.server_end()
        self.assertEqual(flood.wait(check=False).status, 1)
        self.serve()
        self.drive('rm')
        self.check_kernels()

    def test_6c_receiver_killed(self):
        """who sends and receives is killed with receive entries posted, not rung for"""
        for guest in (self.right, self.left):
            self.right.run('rm -f /tmp/rounds')
            job = self.right.spawn(f'{DRIVE} until /tmp/never {HOSTS["left"]} '
                                   'mutual > /tmp/rounds', 240)
            self.right.wait_for('grep -q round /tmp/rounds')
            guest.run('kill -9 $(pidof urma-drive)')
            # What one had posted does not come to the other, which ends.
            self.right.run('kill -9 $(pidof urma-drive) || true')
            job.wait(check=False)
            self.server_end()
            self.serve()
        self.drive('mutual', 'rm')
        self.check_kernels()

    def test_7_unload(self):
        """the module stays while it is in use, and goes when it is not"""
        self.assertNotEqual(
            self.right.run('exec 3<> /dev/uburma/ubc0; rmmod ub_urma',
                           check=False).status, 0)
        self.right.run('rmmod ub_urma')
        self.right.run('! test -e /dev/uburma/ubc0 && ! test -e ' + CLASS)
        self.right.run('modprobe ub_urma')
        self.right.wait_for('test -c /dev/uburma/ubc0')
        self.drive('rm', 'events')
        self.check_kernels()

    def test_7b_reset(self):
        """the device is reset under a program that waits: it is told"""
        job = self.right.spawn(f'{DRIVE} bereft > /tmp/bereft', 120)
        self.right.wait_for('grep -q waiting /tmp/bereft')
        self.right.run(f'echo 1 > {CLASS}/device/reset')
        self.assertEqual(job.wait().status, 0)
        self.assertIn('told', self.right.out('cat /tmp/bereft'))
        # Of the end of what it had, and that all may be made anew.  The link of
        # before may just have come up.
        job = self.awaited('dev-fatal', 'elr-done')
        self.right.run(f'echo 1 > {CLASS}/device/reset')
        self.assertEqual([e for e in self.told(job) if e[:4] != 'port'],
                         ['dev-fatal 0', 'elr-done 0'])
        self.drive('rm', 'events', host='self')
        self.check_kernels()

    def test_7c_eid(self):
        """the EID is set anew: programs are told, and what asks next sees it"""
        def lowest(value):
            ublink.set_config(self.right, EID, value)
            return self.right.out(f'cat {CLASS}/eids/eid0')[-4:]

        job = self.awaited('eid-change', 'eid-change')
        self.assertEqual(lowest(5), '0005')
        self.assertEqual(lowest(2), '0002')
        self.assertEqual(self.told(job), ['eid-change 0'] * 2)
        self.drive('rm')
        self.check_kernels()

    def test_7c_fatal(self):
        """an event queue that is not in memory: programs are told that it is broken"""
        base = int(self.right.out(
            f'head -n 1 {CLASS}/device/resource').split()[0], 0)
        job = self.awaited('eid-change', 'dev-fatal', 'eid-change')
        for at, value in ((0x4, 0xf0000000), (0x8, 4), (0xc, EQ_ON)):
            self.right.run(f'busybox devmem {base + EQ_2 + at:#x} 32 {value:#x}')
        ublink.set_config(self.right, EID, 5)
        ublink.set_config(self.right, EID, 2)
        self.assertEqual(self.told(job),
                         ['eid-change 0', 'dev-fatal 0', 'eid-change 0'])
        self.drive('rm')
        self.check_kernels()

    def test_7d_no_return(self):
        """a device whose registers are gone after a reset: programs are told"""
        config = f'{CLASS}/device/config'
        self.right.run(f'dd if={config} bs=1 skip=4 count=2 of=/tmp/command')
        job = self.awaited('dev-fatal', 'elr-err')
        # Nobody decodes their addresses: what is read is all ones.
        self.right.run('head -c 2 /dev/zero | dd bs=1 seek=4 conv=notrunc '
                       f'of={config}; echo 1 > {CLASS}/device/reset', 120)
        self.assertEqual(self.told(job), ['dev-fatal 0', 'elr-err 0'])
        self.right.run('dd if=/tmp/command bs=1 seek=4 conv=notrunc '
                       f'of={config}; echo 1 > {CLASS}/device/reset', 120)
        self.ready(self.right)
        self.drive('rm', 'events', host='self')
        self.check_kernels()

    def test_8b_peer_reset(self):
        """a peer's device is reset: either side asks for its channel anew"""
        self.drive('mutual')
        for guest in (self.right, self.left):
            self.server_end()
            guest.run(f'echo 1 > {CLASS}/device/reset')
            for each in (self.left, self.right):
                self.ready(each)
            self.serve()
            self.drive('mutual', 'rm')
        self.check_kernels()

    def booted(self, guest):
        """A guest that was reset is as at its start."""
        guest.wait_ready()
        self.address(guest)
        for each in self.guests():
            self.ready(each)

    def test_8c_guest_reset(self):
        """the machine of either end is reset under traffic, and used again"""
        for guest in (self.left, self.right):
            flood = self.flood(240)
            guest.qmp.command('system_reset')
            self.booted(guest)
            if guest is self.left:
                # What its requests were for is gone, and that they say.
                self.assertIn('status 9 and not 0', flood.wait(check=False).err)
            else:
                # Whom it served is gone without a word, of which TCP hears late.
                self.server_end()
            self.serve()
            self.drive('rm', 'mutual', timeout=120)
        self.drive('rm', 'events', host='self')
        self.check_kernels()

    def test_8_abuse(self):
        """random commands, calls and mappings: errors, and nothing else"""
        self.right.run(f'{DRIVE} abuse 1 20000', 300)
        self.drive('rm', host='self')
        self.check_kernels()

    def test_9_unplug(self):
        """the device goes under a program, and comes back"""
        flood = self.flood(120)
        self.right.hotplug_remove('ub')
        # It polls a page that leads nowhere, until it is told to end.
        self.right.run('! test -e /dev/uburma/ubc0; kill $(pidof urma-drive)')
        flood.wait(check=False)
        self.check_kernels()


class Around(ThreeGuests):
    """Three guests around a switch."""

    def test_1_each_with_each(self):
        """one serves both others, one after another"""
        self.drive('rm', 'mutual')
        self.drive('rm', 'mutual', guest=self.third)
        self.check_kernels()

    def test_2_gather(self):
        """two send to a third at once, into one JFR: every byte of each is there"""
        gather = self.left.spawn(f'{DRIVE} gather 2', 240)
        jobs = [guest.spawn(f'{DRIVE} scatter {HOSTS["left"]}', 240)
                for guest in (self.right, self.third)]
        for job in jobs:
            self.assertEqual(job.wait().out, 'scattered 512\n')
        self.assertEqual(gather.wait().out, 'gathered 1024\n')
        self.check_kernels()


class Ipv4(OverIpv4):
    """IP paths: RTP and UTP in packets of CFG 3."""

    def utp(self, way):
        engine = self.right.qmp.command('query-ub-engines')[0]
        return next((c['value'] for c in engine['transport']
                     if c['name'] == way + '-utp'), 0)

    def test_1_all(self):
        """RM and RC over RTP; UM is UTP, whatever the program asks for"""
        self.drive('rm', 'rc')
        before = self.utp('tx')
        self.drive('um')
        self.assertGreater(self.utp('tx'), before + 1)
        self.check_kernels()

    def test_2_self(self):
        """one guest with itself"""
        self.drive('rm', 'um', host='self')

    def test_3_caps(self):
        """what is announced: no CTP"""
        self.assertEqual(carriers(self.right), ['1'] * 8 + ['4'] * 8)
        self.assertNotEqual(self.right.run(
            f'timeout 20 {DRIVE} test self ctp', check=False).status, 0)
        self.check_kernels()


class Gateway(OverGateway):
    """IP paths through a gateway between UB and Ethernet: CFG 4."""

    def test_1_all(self):
        """every byte, RM, RC and UM"""
        self.drive('rm', 'rc', 'um', 'refused', timeout=240)
        self.check_kernels()


class UnlikeEnds(TwoGuests):
    """An arm64 and an x86_64 guest."""
    arch = {'left': 'aarch64', 'right': 'x86_64'}
    hotplug = 0

    def test_1_both(self):
        """each serves the other, and itself"""
        self.drive('rm', 'rc', 'um', 'events')
        self.drive('rm', 'flush', 'group', guest=self.left, host='self')
        self.check_kernels()


if __name__ == '__main__':
    tap.main()
