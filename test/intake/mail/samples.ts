import { writeMailbox } from "../../../src/tracking/BounceAddress.ts"
import type { OrgSlug } from "../../../src/domain/Ids.ts"
import { hmacKey } from "../../../src/text/Hmac.ts"

// Reports in the formats of mail servers and mailbox providers, with invented hosts, people and ids.

/** Lines as they arrive, with CRLF. */
export const mail = (...lines: ReadonlyArray<string>): string => `${lines.join("\r\n").replace(/\r?\n/g, "\r\n")}\r\n`

export const deliveryId = "0f8fad5b-d9cb-469f-a165-70867728950e"
export const returnPath = `${
  writeMailbox(hmacKey(new Uint8Array(32).fill(7)), { org: "shop" as OrgSlug, delivery: deliveryId })
}@bounces.shop.example`

/** The header section of the message that was sent. */
export const original = [
  `Return-Path: <${returnPath}>`,
  "Received: from parlance (node-1.shop.example [192.0.2.10]) by relay.shop.example (Postfix) with ESMTPS id 4XwVQ91",
  "From: Shop <news@shop.example>",
  "To: anna@mailbox.example",
  "Subject: Your basket is waiting",
  `Message-ID: <${deliveryId}@shop.example>`,
  `X-Tracking-Id: ${deliveryId}`,
  "Date: Mon, 23 Nov 2026 09:00:00 +0000",
  "MIME-Version: 1.0",
  "Content-Type: text/plain; charset=utf-8",
]

export interface ReportOptions {
  readonly from?: string
  readonly subject?: string
  readonly text?: ReadonlyArray<string>
  /** Fields about the message, and those about each recipient. */
  readonly message?: ReadonlyArray<string>
  readonly recipients: ReadonlyArray<ReadonlyArray<string>>
  readonly headers?: ReadonlyArray<string>
}

/** A report by RFC 3464 as Postfix lays it out. */
export const report = (
  {
    from = "MAILER-DAEMON@relay.shop.example (Mail Delivery System)",
    headers = ["Auto-Submitted: auto-replied"],
    message = [
      "Reporting-MTA: dns; relay.shop.example",
      "X-Postfix-Queue-ID: 4XwVQ91",
      "Arrival-Date: Mon, 23 Nov 2026 09:00:01 +0000",
    ],
    recipients,
    subject = "Undelivered Mail Returned to Sender",
    text = [
      "This is the mail system at host relay.shop.example.",
      "",
      "I'm sorry to have to inform you that your message could not be delivered.",
    ],
  }: ReportOptions,
): string =>
  mail(
    "Return-Path: <>",
    `From: ${from}`,
    `Subject: ${subject}`,
    `To: ${returnPath}`,
    ...headers,
    "MIME-Version: 1.0",
    "Content-Type: multipart/report; report-type=delivery-status;",
    '\tboundary="4XwVQ91.1700000000/relay.shop.example"',
    "Message-Id: <20261123090002.4XwVQ91@relay.shop.example>",
    "",
    "This is a MIME-encapsulated message.",
    "",
    "--4XwVQ91.1700000000/relay.shop.example",
    "Content-Description: Notification",
    "Content-Type: text/plain; charset=us-ascii",
    "",
    ...text,
    "",
    "--4XwVQ91.1700000000/relay.shop.example",
    "Content-Description: Delivery report",
    "Content-Type: message/delivery-status",
    "",
    ...message,
    ...recipients.flatMap((fields) => ["", ...fields]),
    "",
    "--4XwVQ91.1700000000/relay.shop.example",
    "Content-Description: Undelivered Message Headers",
    "Content-Type: text/rfc822-headers",
    "",
    ...original,
    "",
    "--4XwVQ91.1700000000/relay.shop.example--",
  )

/** The fields of one recipient whose delivery failed. */
export const failed = (status: string, diagnostic: string, ...more: ReadonlyArray<string>): ReadonlyArray<string> => [
  "Final-Recipient: rfc822; anna@mailbox.example",
  "Original-Recipient: rfc822;anna@mailbox.example",
  "Action: failed",
  `Status: ${status}`,
  ...more,
  `Diagnostic-Code: ${diagnostic}`,
]

const base64 = (text: string): string => btoa(text).replace(/.{76}/g, "$&\r\n")

/** Exchange Online: the explanation in two forms, the fields after it, and the headers of the message. */
export const exchangeOnline = (status: string, diagnostic: string): string =>
  mail(
    "Received: from AM0PR01.eurprd01.prod.exchangelabs.com (2603:10a6::1) by DB3PR01.eurprd01.prod.exchangelabs.com",
    "From: <postmaster@mailbox.example>",
    `To: <${returnPath}>`,
    "Date: Mon, 23 Nov 2026 09:00:04 +0000",
    "MIME-Version: 1.0",
    'Content-Type: multipart/report; report-type=delivery-status; boundary="0b1c-outer"',
    "Content-Language: en-GB",
    "Message-ID: <b6f1@AM0PR01.eurprd01.prod.exchangelabs.com>",
    "In-Reply-To: <0f8fad5b-d9cb-469f-a165-70867728950e@shop.example>",
    "Subject: Undeliverable: Your basket is waiting",
    "Auto-Submitted: auto-replied",
    "X-MS-Exchange-Message-Is-Ndr:",
    "",
    "--0b1c-outer",
    'Content-Type: multipart/alternative; differences=Content-Type; boundary="0b1c-inner"',
    "",
    "--0b1c-inner",
    'Content-Type: text/plain; charset="us-ascii"',
    "Content-Transfer-Encoding: quoted-printable",
    "",
    "Your message to anna@mailbox.example couldn't be delivered.=20",
    "",
    "--0b1c-inner",
    'Content-Type: text/html; charset="us-ascii"',
    "Content-Transfer-Encoding: base64",
    "",
    base64(`<html><body>${"<p>Your message couldn't be delivered.</p>".repeat(300)}</body></html>`),
    "",
    "--0b1c-inner--",
    "",
    "--0b1c-outer",
    "Content-Type: message/delivery-status",
    "",
    "Reporting-MTA: dns;AM0PR01.eurprd01.prod.exchangelabs.com",
    "Received-From-MTA: dns;relay.shop.example",
    "Arrival-Date: Mon, 23 Nov 2026 09:00:03 +0000",
    "",
    "Final-Recipient: rfc822;anna@mailbox.example",
    "Action: failed",
    `Status: ${status}`,
    `Diagnostic-Code: smtp;${diagnostic}`,
    "",
    "--0b1c-outer",
    "Content-Type: message/rfc822",
    "",
    ...original,
    "",
    "--0b1c-outer--",
  )

/** Gmail names the receiver's words in the diagnostic, folded over several lines. */
export const gmail = (action: string, status: string, subject: string, ...diagnostic: ReadonlyArray<string>): string =>
  mail(
    "From: Mail Delivery Subsystem <mailer-daemon@googlemail.com>",
    `To: ${returnPath}`,
    "Auto-Submitted: auto-replied",
    `Subject: Delivery Status Notification (${subject})`,
    "X-Failed-Recipients: anna@mailbox.example",
    "MIME-Version: 1.0",
    'Content-Type: multipart/report; boundary="000000000000abc"; report-type=delivery-status',
    "",
    "--000000000000abc",
    'Content-Type: multipart/related; boundary="000000000000def"',
    "",
    "--000000000000def",
    'Content-Type: multipart/alternative; boundary="000000000000fed"',
    "",
    "--000000000000fed",
    'Content-Type: text/plain; charset="UTF-8"',
    "",
    "** Address not found **",
    "",
    "--000000000000fed--",
    "--000000000000def",
    'Content-Type: image/png; name="icon.png"',
    "Content-Transfer-Encoding: base64",
    "",
    "iVBORw0KGgo=",
    "--000000000000def--",
    "--000000000000abc",
    "Content-Type: message/delivery-status",
    "",
    "Reporting-MTA: dns; googlemail.com",
    "Arrival-Date: Mon, 23 Nov 2026 01:00:01 -0800 (PST)",
    "X-Original-Message-ID: <0f8fad5b-d9cb-469f-a165-70867728950e@shop.example>",
    "",
    "Final-Recipient: rfc822; anna@mailbox.example",
    `Action: ${action}`,
    `Status: ${status}`,
    "Remote-MTA: dns; mx.mailbox.example. (192.0.2.7, the server for the domain mailbox.example.)",
    ...diagnostic,
    "Last-Attempt-Date: Mon, 23 Nov 2026 01:00:02 -0800 (PST)",
    "",
    "--000000000000abc",
    "Content-Type: message/rfc822",
    "",
    ...original,
    "",
    "--000000000000abc--",
  )

/** qmail: plain text by convention (QSBMF). */
export const qmail = (reason: string): string =>
  mail(
    "Return-Path: <>",
    "From: MAILER-DAEMON@mx.mailbox.example",
    `To: ${returnPath}`,
    "Subject: failure notice",
    "",
    "Hi. This is the qmail-send program at mx.mailbox.example.",
    "I'm afraid I wasn't able to deliver your message to the following addresses.",
    "This is a permanent error; I've given up. Sorry it didn't work out.",
    "",
    "<anna@mailbox.example>:",
    reason,
    "",
    "--- Below this line is a copy of the message.",
    "",
    ...original,
    "",
    "This mailbox is full of offers. 5.2.2",
  )

/** Exim before it wrote reports. */
export const oldExim = (subject: string, ...text: ReadonlyArray<string>): string =>
  mail(
    "Return-path: <>",
    "X-Failed-Recipients: anna@mailbox.example",
    "Auto-Submitted: auto-replied",
    "From: Mail Delivery System <Mailer-Daemon@exim.shop.example>",
    `To: ${returnPath}`,
    `Subject: ${subject}`,
    "",
    "This message was created automatically by mail delivery software.",
    "",
    ...text,
    "",
    "------ This is a copy of the message, including all the headers. ------",
    "",
    ...original,
    "",
    "550 5.1.1 user unknown",
  )

/** A complaint by RFC 5965. */
export const complaint = (
  fields: ReadonlyArray<string>,
  enclosed: { readonly type?: string; readonly lines?: ReadonlyArray<string> } = {},
): string =>
  mail(
    "From: <feedback@arf.provider.example>",
    "To: <complaint+x@bounces.shop.example>",
    "Subject: FW: Your basket is waiting",
    "MIME-Version: 1.0",
    'Content-Type: multipart/report; report-type=feedback-report; boundary="part1_13d.2e68ed54_boundary"',
    "",
    "--part1_13d.2e68ed54_boundary",
    'Content-Type: text/plain; charset="US-ASCII"',
    "Content-Transfer-Encoding: 7bit",
    "",
    "This is an email abuse report for an email message received from IP 192.0.2.10 on Mon, 23 Nov 2026 09:10:00 +0000",
    "",
    "--part1_13d.2e68ed54_boundary",
    "Content-Type: message/feedback-report",
    "",
    ...fields,
    "",
    "--part1_13d.2e68ed54_boundary",
    `Content-Type: ${enclosed.type ?? "message/rfc822"}`,
    "Content-Disposition: inline",
    "",
    ...enclosed.lines ?? [...original, "", "Hello Anna"],
    "",
    "--part1_13d.2e68ed54_boundary--",
  )

export const yahoo = complaint([
  "Feedback-Type: abuse",
  "User-Agent: Yahoo!-Mail-Feedback/2.0",
  "Version: 0.1",
  `Original-Mail-From: <${returnPath}>`,
  "Original-Rcpt-To: anna@mailbox.example",
  "Received-Date: Mon, 23 Nov 2026 09:00:05 +0000",
  "Reported-Domain: shop.example",
  "Authentication-Results: mta.provider.example dkim=pass header.i=@shop.example",
])

/** Microsoft since 2026: the recipient and the return path are left out. */
export const outlook = complaint(
  [
    "Feedback-Type: abuse",
    "User-Agent: JMRP/2.0",
    "Version: 1",
    "Source-IP: 192.0.2.10",
    "Reported-Domain: shop.example",
  ],
  { lines: original.filter((line) => !/^(Return-Path|To|X-Tracking-Id)/.test(line)) },
)

/** Microsoft before: the message as an attachment, from staff@hotmail.com. */
export const oldHotmail = mail(
  "From: staff@hotmail.com",
  "To: complaint+x@bounces.shop.example",
  "Subject: complaint about message from 192.0.2.10",
  "MIME-Version: 1.0",
  'Content-Type: multipart/mixed; boundary="hm-1"',
  "",
  "--hm-1",
  "Content-Type: message/rfc822",
  "Content-Disposition: inline",
  "",
  "X-HmXmrOriginalRecipient: anna@mailbox.example",
  ...original.slice(1),
  "",
  "Hello Anna",
  "",
  "--hm-1--",
)

/** An absence note. */
export const absence = mail(
  "Return-Path: <>",
  "From: Anna <anna@mailbox.example>",
  `To: ${returnPath}`,
  "Subject: Automatic reply: Your basket is waiting",
  "Auto-Submitted: auto-replied",
  "X-Auto-Response-Suppress: All",
  'Content-Type: text/plain; charset="utf-8"',
  "",
  "I am away until the 30th. For urgent matters write to bert@mailbox.example. 550 5.1.1",
)
