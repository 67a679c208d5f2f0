import { Hash, type Liquid, Tag, type TagToken, type Token, type TopLevelToken, TypeGuards } from "liquidjs"
import { Refused } from "./Refused.ts"

/** A value that a snippet gets, or a list of which it gets one element after the other. */
interface Binding {
  readonly isList: boolean
  readonly value: Token
  /** The name in the snippet. Default: the id of the snippet. */
  readonly name: string
}

/** The tag `{% render 'id' %}`, `… with value as name`, `… for list as name`, and with arguments. */
export class RenderTag extends Tag {
  readonly id: string
  readonly binding: Binding | undefined
  readonly args: ReadonlyArray<readonly [name: string, value: Token]>

  constructor(token: TagToken, rest: Array<TopLevelToken>, liquid: Liquid) {
    super(token, rest, liquid)
    const { tokenizer } = token
    const id = tokenizer.readValue()
    if (!TypeGuards.isQuotedToken(id)) {
      throw new Refused("needs the id of a snippet in quotes: write {% render 'footer' %}", token.begin)
    }
    this.id = id.content
    tokenizer.skipBlank()
    const begin = tokenizer.p
    const word = tokenizer.readIdentifier().content
    tokenizer.skipBlank()
    if ((word === "with" || word === "for") && tokenizer.peek() !== ":") this.binding = this.#binding(word)
    else tokenizer.p = begin
    const { hash } = new Hash(tokenizer)
    this.args = Object.entries(hash).flatMap(([name, value]) => value === undefined ? [] : [[name, value] as const])
  }

  #binding(word: "with" | "for"): Binding {
    const { tokenizer } = this
    const value = tokenizer.readValue()
    if (value === undefined) throw new Refused(`has no value behind ${word}`, this.token.begin)
    tokenizer.skipBlank()
    const behind = tokenizer.p
    const isNamed = tokenizer.readIdentifier().content === "as"
    if (!isNamed) tokenizer.p = behind
    tokenizer.skipBlank()
    return { isList: word === "for", value, name: isNamed ? tokenizer.readIdentifier().content : this.id }
  }

  override render(): void {}
}
