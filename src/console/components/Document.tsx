import type { ComponentChildren, VNode } from "preact"
import { renderToString } from "preact-render-to-string"
import { currentLanguage } from "../../languages/Language.ts"
import { assets, textsPath } from "../Assets.ts"

/** The theme that the visitor chose; `auto` follows the device. */
export type Theme = "auto" | "light" | "dark"

/** The document around every page. */
export const Document = ({ children, theme, title }: {
  readonly title: string
  readonly theme: Theme
  readonly children: ComponentChildren
}) => {
  const { tag } = currentLanguage()
  const texts = textsPath(tag)
  return (
    <html lang={tag} {...(theme === "auto" ? {} : { "data-theme": theme })}>
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <meta name="robots" content="noindex" />
        <title>{`${title} · Parlance`}</title>
        <link rel="icon" href={assets.icon} />
        <link rel="stylesheet" href={assets.stylesheet} />
        {texts !== undefined && <script type="module" src={texts}></script>}
        <script type="module" src={assets.script}></script>
      </head>
      <body>{children}</body>
    </html>
  )
}

/** The page as it is sent. */
export const toHtml = (node: VNode): string => `<!doctype html>${renderToString(node)}`
