let turn = 0

/** `Retry-After` of a 503: 1 to 5 seconds in turn, so that those who were refused together do not come back together. */
export const retryAfter = (): string => String(1 + turn++ % 5)
