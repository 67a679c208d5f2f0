// Security headers of the pages of the console.

/** Needs of the scripts of a page. */
interface PageNeeds {
  /** Whether scripts of the page may request the service. Default: false. */
  readonly live?: boolean
  /** The nonce of the style sheets that a script of the page adds. */
  readonly styleNonce?: string
}

const csp = "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self' data:; form-action 'self'; " +
  "frame-ancestors 'none'; base-uri 'none'; frame-src 'self'"

/** Headers of every page. */
const headers = {
  "content-security-policy": csp,
  "x-content-type-options": "nosniff",
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "permissions-policy": "camera=(), geolocation=(), microphone=(), payment=()",
  "cache-control": "no-store",
}

/** Headers of a page that a link opens: no search engine lists it, and no site that it leads to learns the link. */
export const sharedHeaders = {
  ...headers,
  "x-robots-tag": "noindex, nofollow",
  "referrer-policy": "no-referrer",
}

/** Returns the headers of a page with what its scripts need. */
export const pageHeaders = ({ live = false, styleNonce }: PageNeeds) => ({
  ...headers,
  "content-security-policy":
    csp.replace("style-src 'self'", `style-src 'self'${styleNonce === undefined ? "" : ` 'nonce-${styleNonce}'`}`) +
    (live ? "; connect-src 'self'" : ""),
})
