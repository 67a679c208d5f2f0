import { around, between, click, minute, open, page, type Scene, second, type Visitor } from "./Scenes.ts"

// Kinds of gateways, as administrators, platforms and authors of trackers report them in public: when a gateway
// requests links, which ones, and how fast. Every gateway sends the user agent of a browser.

/** Requests of `links` in order, with the unsubscribe page last, `gap` milliseconds apart from `from` on. */
const walk = (
  { hasPage }: Scene,
  links: ReadonlyArray<string>,
  { from, gap, isThorough = true }: {
    readonly from: number
    readonly gap: () => number
    readonly isThorough?: boolean
  },
) => {
  let at = from
  const clicks = links.map((link) => {
    const clicked = click(link, at)
    at += gap()
    return clicked
  })
  return hasPage && isThorough ? [...clicks, page(at)] : clicks
}

const some = ({ chance, links }: Scene, count: number) =>
  [...links].sort(() => chance.uniform() - 0.5).slice(0, Math.max(1, count))

export const gateways: { readonly [name: string]: Visitor } = {
  // Follows all links within seconds of the delivery, one directly after another.
  "Barracuda Email Protection": (scene) =>
    walk(scene, scene.links, {
      from: scene.acceptedAt + between(scene.chance, -second, 6 * second),
      gap: () => between(scene.chance, 50, 600),
    }),
  // Follows a sample of the links while it holds the message, and shortly after.
  "Proofpoint Targeted Attack Protection": (scene) =>
    walk(scene, some(scene, Math.ceil(3 * scene.chance.uniform())), {
      from: scene.acceptedAt + between(scene.chance, -20 * second, 5 * second),
      gap: () => between(scene.chance, 100, 3 * second),
      isThorough: false,
    }),
  // Follows all links before it accepts the message.
  "Mimecast URL Protect": (scene) =>
    walk(scene, scene.links, {
      from: scene.acceptedAt - between(scene.chance, 8 * second, 25 * second),
      gap: () => between(scene.chance, 200, 900),
    }),
  // Opens the message in browsers of a sandbox: all links at once, seconds to minutes after the delivery.
  "Microsoft Defender Safe Links": (scene) => {
    const from = scene.acceptedAt + Math.min(around(scene.chance, 15 * second, 1.2), 10 * minute)
    const requests = walk(scene, scene.links, { from, gap: () => between(scene.chance, 0, 150) })
    return scene.chance.uniform() < 0.5 ? [open(from - 200), ...requests] : requests
  },
  // Follows some links while it holds the message.
  "Cisco Secure Email": (scene) =>
    walk(scene, some(scene, Math.ceil(scene.links.length * scene.chance.uniform())), {
      from: scene.acceptedAt - between(scene.chance, second, 45 * second),
      gap: () => between(scene.chance, 100, second),
      isThorough: false,
    }),
  // Follows all links, about one each second, before it accepts the message.
  "Symantec Email Security": (scene) =>
    walk(scene, scene.links, {
      from: scene.acceptedAt - between(scene.chance, 5 * second, 20 * second),
      gap: () => between(scene.chance, 900, 1_100),
    }),
  // Follows all links at a steady pace, from seconds to a minute after the delivery.
  "Trend Micro Email Security": (scene) => {
    const pace = between(scene.chance, second, 4 * second)
    return walk(scene, scene.links, {
      from: scene.acceptedAt + between(scene.chance, second, 60 * second),
      gap: () => pace + between(scene.chance, -200, 200),
    })
  },
  // Follows all links within seconds of the delivery.
  "Sophos Email": (scene) =>
    walk(scene, scene.links, {
      from: scene.acceptedAt + between(scene.chance, 500, 8 * second),
      gap: () => between(scene.chance, 300, 1_500),
    }),
  // Renders one page after another, beginning around the delivery.
  "Fortinet FortiMail": (scene) =>
    walk(scene, scene.links, {
      from: scene.acceptedAt + between(scene.chance, -10 * second, 8 * second),
      gap: () => between(scene.chance, 2 * second, 9 * second),
    }),
  // Reads the mailbox after the delivery, and follows all links in parallel.
  "a scanner of mailboxes": (scene) =>
    walk(scene, scene.links, {
      from: scene.acceptedAt + between(scene.chance, 5 * second, 3 * minute),
      gap: () => between(scene.chance, 0, 400),
    }),
}
