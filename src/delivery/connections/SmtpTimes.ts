/** Timeouts of an SMTP server. Unit: milliseconds. */
export interface SmtpTimes {
  /** TCP connection. */
  readonly connect: number
  readonly greeting: number
  /** Reply to EHLO, STARTTLS or a login. */
  readonly command: number
  /** Replies to MAIL, RCPT and DATA together. */
  readonly envelope: number
  /** Transfer of the message and the reply to its final dot, together. */
  readonly message: number
}

const minute = 60_000

/**
 * The timeouts of RFC 5321, 4.5.3.2. The RFC has no timeout for the TCP connection. A server that replies within these
 * timeouts is never given up: a slow server occupies only its own sessions.
 */
export const rfcTimes: SmtpTimes = {
  connect: minute / 2,
  greeting: 5 * minute,
  command: 5 * minute,
  // 5 minutes for MAIL, 5 for RCPT, 2 for DATA.
  envelope: 12 * minute,
  // 3 minutes for a block of the message, 10 for the dot.
  message: 13 * minute,
}

/** Timeout from the TCP connection to a session that is ready. Unit: milliseconds. */
export const setupMillis = ({ command, greeting }: SmtpTimes): number => greeting + 2 * command

/**
 * Timeout of one message, including the wait for a session, which may last as long as the message itself. Unit:
 * milliseconds.
 */
export const longestMillis = (times: SmtpTimes): number =>
  2 * (times.connect + setupMillis(times) + times.envelope + times.message)
