# SPDX-License-Identifier: GPL-2.0-or-later
"""Four guests and two switches: two managers with a boundary between their halves,
then one for all, which finds another way after a cut."""

import json
import unittest

from guestvm import kernel, tap, ubfabric
from guestvm.ubfabric import guid
from guestvm.ubswitch import Switch

# Of each half: its manager and another guest; the first CNA that it gives.
HALVES = {'near': (('a', 'b'), 1), 'far': (('c', 'd'), 0x40)}
SERIAL = {name: 0x100 * (n + 1) for n, name in enumerate('abcd')}
LINKS = (2, 3)      # ports of the switches to one another


class TwoManagers(unittest.TestCase):
    """a, b = near = far = c, d."""

    @classmethod
    def setUpClass(cls):
        ubfabric.needed()
        cls.switch = {}
        cls.guest = {}
        for half, (names, _first) in HALVES.items():
            peer = cls.switch.get('near')
            switch = Switch(4, half, connect={p: peer.path(p) for p in LINKS}
                            if peer else None)
            cls.switch[half] = switch
            cls.addClassCleanup(switch.close)
            switch.start()
            for port, name in enumerate(names):
                guest = ubfabric.node(
                    name, switch.chardev(port),
                    f'guid={guid(SERIAL[name])[0]},'
                    f'manager={"off" if port else "on"}',
                    kern=kernel.other('x86_64') if name == 'd' else None)
                cls.addClassCleanup(guest.close)
                cls.guest[name] = guest.start()
        ubfabric.ready(cls.guest.values())

    def boundary(self, on):
        for switch in self.switch.values():
            for port in LINKS:
                switch.command('port-boundary', port=port, on=on)

    def ubfm(self, name, words=''):
        """What a manager has made of what it sees: nodes by GUID."""
        done = self.guest[name].run(
            f'ubfm -f json -u 5 -e fd000000000000000000000000000000 {words}',
            120)
        print(f'# {name}: ' + done.err.strip().replace('\n', '\n# '))
        return {n['guid']: n for n in json.loads(done.out)['nodes']}

    def routes(self, half):
        return {r['cna']: r['ports']
                for r in self.switch[half].command('query-routes')['cna']}

    def own(self, half):
        """GUIDs of its guests as programs print them."""
        return {guid(SERIAL[name])[1] for name in HALVES[half][0]}

    def check(self, nodes, guests):
        """Switches and these guests, each with an address of its own."""
        self.assertEqual({g for g, n in nodes.items()
                          if n['kind'] != 'switch'}, guests)
        cnas = [n['cna'] for n in nodes.values()]
        self.assertNotIn(0, cnas)
        self.assertEqual(len(set(cnas)), len(cnas))
        for node in nodes.values():
            self.assertEqual(node['eid'], f'fd00{0:023x}{node["cna"]:05x}')

    def quiet(self):
        for guest in self.guest.values():
            self.assertEqual(guest.kernel_complaints(), [])

    def test_1_halves(self):
        """each manager has its half and nothing of the other one's"""
        self.boundary(True)
        for half, (names, first) in HALVES.items():
            nodes = self.ubfm(names[0], f'-c {first:#x}')
            self.assertEqual(len(nodes), 3)
            self.check(nodes, self.own(half))
            cnas = {n['cna'] for n in nodes.values()}
            self.assertEqual(cnas, set(range(first, first + 3)))
            # Routes to its own guests and switch, by ports that stay inside.
            routes = self.routes(half)
            self.assertTrue(set(routes) <= cnas, routes)
            self.assertEqual({tuple(routes[nodes[g]['cna']]) for g in
                              self.own(half)}, {(0,), (1,)})
        # The other half's manager has changed nothing of the first one's.
        for half, (names, first) in HALVES.items():
            again = self.ubfm(names[0], f'-c {first:#x}')
            self.assertEqual({n['cna'] for n in again.values()},
                             set(range(first, first + 3)))
        self.quiet()

    def test_2_one(self):
        """without the boundary one manager has all, and keeps what there is"""
        self.boundary(False)
        nodes = self.ubfm('a')
        self.check(nodes, {guid(s)[1] for s in SERIAL.values()})
        self.assertEqual({n['cna'] for n in nodes.values()},
                         {1, 2, 3, 0x40, 0x41, 0x42})
        far = [nodes[g]['cna'] for g in self.own('far')]
        for cna in far:
            self.assertEqual(self.routes('near')[cna], list(LINKS))
        self.quiet()

    def test_3_cut(self):
        """a cut of one of two links: the other one has all routes, and back again"""
        nodes = self.ubfm('a')
        away = {'near': [nodes[g]['cna'] for g in self.own('far')],
                'far': [nodes[g]['cna'] for g in self.own('near')]}
        for on, ports in ((False, [LINKS[1]]), (True, list(LINKS))):
            self.switch['near'].command('port-enable', port=LINKS[0], on=on)
            self.guest['a'].wait_for(
                'ubfm -f json 2>&1 >/dev/null | '
                f'grep "6 nodes, {6 if on else 5} links"', 120)
            for half, cnas in away.items():
                routes = self.routes(half)
                self.assertEqual([routes[cna] for cna in cnas],
                                 [ports, ports])
            # Registers of the other half are reached by messages.
            nodes = self.ubfm('a')
            self.check(nodes, {guid(s)[1] for s in SERIAL.values()})
        self.quiet()


if __name__ == '__main__':
    tap.main()
