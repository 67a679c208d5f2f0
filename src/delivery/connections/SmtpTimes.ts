/** How long an SMTP server may take. Unit: milliseconds. */
export interface SmtpTimes {
  /** To accept the connection. */
  readonly connect: number
  readonly greeting: number
  /** To answer EHLO or STARTTLS, and a login. */
  readonly command: number
  /** To answer MAIL, RCPT and DATA together. */
  readonly envelope: number
  /** To take the message and to answer its last dot, together. */
  readonly message: number
}

const minute = 60_000

/**
 * The times of RFC 5321, 4.5.3.2. The RFC has no time for the TCP connection. A server that answers within these
 * times is never given up: a slow server occupies only its own sessions.
 */
export const rfcTimes: SmtpTimes = {
  connect: minute / 2,
  greeting: 5 * minute,
  command: 5 * minute,
  // 5 for MAIL, 5 for RCPT, 2 for DATA.
  envelope: 12 * minute,
  // 3 for a block of the message, 10 for the dot.
  message: 13 * minute,
}

/** Longest that a session may take to be ready once it is connected. */
export const setupMillis = ({ command, greeting }: SmtpTimes): number => greeting + 2 * command

/** Longest that a message may take, with as much again for the wait for a session. */
export const longestMillis = (times: SmtpTimes): number =>
  2 * (times.connect + setupMillis(times) + times.envelope + times.message)
