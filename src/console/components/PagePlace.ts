import { createContext } from "preact"

/** Where a page stands, for parts of it that depend on its path. */
export interface PagePlace {
  /** The path of the page, without its query. */
  readonly path: string
  /** Whether the visitor may use an endpoint here. */
  readonly can: (endpoint: string) => boolean
}

/** The place of the page that is rendered; undefined outside the frame. */
export const PlaceContext = createContext<PagePlace | undefined>(undefined)
