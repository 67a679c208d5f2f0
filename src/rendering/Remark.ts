import { type Liquid, Tag, type TagToken, type TopLevelToken } from "liquidjs"
import { Refused } from "./Refused.ts"

/**
 * The tag `{% # … %}`. The tag of liquidjs searches for lines without `#` by a pattern that needs quadratic time on
 * empty lines.
 */
export class Remark extends Tag {
  constructor(token: TagToken, rest: Array<TopLevelToken>, liquid: Liquid) {
    super(token, rest, liquid)
    const lines = token.args.split("\n").slice(1).map((line) => line.trim())
    if (lines.some((line) => line !== "" && !line.startsWith("#"))) {
      throw new Refused("every line of an inline comment must start with #", token.begin)
    }
  }
  override render(): void {}
}
