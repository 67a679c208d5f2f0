import { around, between, click, minute, open, page, type Scene, second, type Visitor } from "./Scenes.ts"

// Kinds of people, by how they read a message and follow its links.

const pick = ({ chance, links }: Scene) => links[Math.floor(between(chance, 0, links.length))]!

/** When a person sees the message: the median is two hours after the delivery. People need at least three seconds to see it. */
const seenAt = ({ acceptedAt, chance }: Scene) => acceptedAt + 3 * second + around(chance, 120 * minute, 2)

export const people: { readonly [name: string]: Visitor } = {
  // Reads on a phone, and follows a link or two.
  "a reader with images": (scene) => {
    const { chance } = scene
    const seen = seenAt(scene)
    const first = seen + around(chance, 12 * second, 0.8)
    const clicks = [click(pick(scene), first)]
    if (chance.uniform() < 0.3) clicks.push(click(pick(scene), first + around(chance, 60 * second, 0.8)))
    return [open(seen), ...clicks]
  },
  // Reads in a program that loads no images, and follows a link, sometimes twice.
  "a reader without images": (scene) => {
    const { chance } = scene
    const link = pick(scene)
    const first = seenAt(scene) + around(chance, 15 * second, 0.8)
    return chance.uniform() < 0.2
      ? [click(link, first), click(link, first + between(chance, 200, 3_000))]
      : [click(link, first)]
  },
  // Goes through a newsletter, and opens article after article in a tab.
  "a reader who opens tabs": (scene) => {
    const { chance, links } = scene
    const seen = seenAt(scene)
    let at = seen + around(chance, 10 * second, 0.5)
    const chosen = links.filter(() => chance.uniform() < 0.5)
    const clicks = chosen.map((link) => {
      const clicked = click(link, at)
      at += around(chance, 14 * second, 0.6)
      return clicked
    })
    return chance.uniform() < 0.7 ? [open(seen), ...clicks] : clicks
  },
  // Has asked for the message, such as for a new password, and clicks as soon as it arrives.
  "a person who waits for the message": (scene) => {
    const { acceptedAt, chance } = scene
    const seen = acceptedAt + 4 * second + around(chance, 25 * second, 0.6)
    const clicked = click(scene.links[0]!, seen + around(chance, 6 * second, 0.5))
    return chance.uniform() < 0.6 ? [open(seen), clicked] : [clicked]
  },
  // Looks at a link, then opens the unsubscribe page.
  "a person who unsubscribes": (scene) => {
    const { chance, hasPage } = scene
    const seen = seenAt(scene)
    const first = seen + around(chance, 12 * second, 0.6)
    const visits = [open(seen), click(pick(scene), first)]
    return hasPage ? [...visits, page(first + 2 * second + around(chance, 20 * second, 0.7))] : visits
  },
}
