"""Deep stacks that greenlet copies away and back: 50 of them, 200 frames each, 40,000 switches."""

import greenlet


def descend(depth, main, number):
    if depth:
        return descend(depth - 1, main, number)
    total = 0
    while True:
        received = main.switch(total)
        if received is None:
            return total
        total = (total * 31 + received * number) % 1_000_003


def main():
    here = greenlet.getcurrent()
    others = []
    for number in range(50):
        # max() puts a C frame in between, so that the native stack is switched as well.
        other = greenlet.greenlet(lambda n=number: max([n], key=lambda _: descend(200, here, n) or 1))
        other.switch()
        others.append(other)
    checks = 0
    for turn in range(800):
        for other in others:
            checks = (checks * 7 + other.switch(turn)) % 1_000_003
    print("checks", checks, [other.switch(None) for other in others][:5])


main()
