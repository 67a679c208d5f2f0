import { assert, describe, it } from "@effect/vitest"
import { messageEventOf } from "../../../src/intake/names/MessageEvents.ts"

const listOf = (text: string): ReadonlyArray<string> => text.trim().replace(/\s+/g, " ").split(", ")

/** Names by their meaning, then `email` or `other` for the channel, `machine` for an event of a program, and `group`. */
const meanings: { readonly [meaning: string]: string } = {
  "click other": `
    Content Card Clicked, In-App Message Clicked, News Feed Card Clicked, Push Clicked, Push Link Clicked, SMS
    Link Clicked, Clicked SMS, In App Click, webPushClick, embeddedClick, Notification Clicked iOS, Mobile
    In-App Clicked, NOTIFICATION_CLICKED_WEB_MOE, Banner Clicked, LINE Message Clicked, Abandoned Cart SMS
    Clicked
  `,
  "bounce other": `
    SMS Rejected, Push Notification Bounced, SMS Delivery Failed, SMS Bounced, Bounced Push,
    users.messages.sms.Rejection
  `,
  "failed email": `
    Email Suppressed, Email Failed, Email Dropped, Dropped Email, Email Send Skip, emailSendSkip, SEND_ABORTED,
    SEND_REJECTED, Rendering Failure, policy_rejection, Email Blocked, Email Rejected, Email Not Sent
  `,
  "spam email": `
    Spam Report, Email Marked As Spam, Email Reported As Spam, Email Marked as Spam, Marked Email as Spam, Email
    Complaint, Email Complained, SPAMREPORT, message.email.reported_as_spam, users.messages.email.MarkAsSpam,
    Email Complaint Received, Complaint, spam_complaint, Spam Complaint
  `,
  "unsubscribe email": `
    Unsubscribe, Email Unsubscribed, Unsubscribed, Unsubscribed from Email Marketing, Email Unsubscribe,
    emailUnSubscribe, Unsubscribe Email, list_unsubscribe, link_unsubscribe, Opted out of email, Email Opted
    Out, Newsletter Unsubscribed
  `,
  "ignored": `
    Campaign Control Group Entered, Canvas Entered, Canvas Exited, SMS Sent to Carrier, Application Uninstalled,
    Mobile App Uninstalled, Email Processed, Email Drafted, Email Attempted, Push Drafted, Push Attempted,
    Webhook Attempted, Subscribed to SMS Marketing, Consented to Receive SMS, Updated Email Preferences, Inbox
    Session, pushUninstall, Push Unregistered, STATUSCHANGE, UNBOUNCE, users.messages.sms.CarrierSend,
    users.canvas.Entry, users.campaigns.EnrollInControl, CONTROL, IN_APP_MESSAGE_RESOLUTION,
    IN_APP_MESSAGE_EXPIRATION, Email Deferred, Email Delivery Delayed, DeliveryDelay, Journey Entered, Journey
    Exited, Flow Entered, User Entered Flow
  `,
  "sent other": `
    Webhook Sent, Push Notification Sent, Content Card Sent, SMS Send, Push Sent, Slack Message Sent, Slack
    Sent, Sent SMS, Notification Sent, message.push.sent, RCS Message Sent, Webhook Sent
  `,
  "sent email": `
    Email Sent, Email Send, Send Email, Send Sales Email, SEND, [Braze] Email Sent, Password Reset Email Sent
  `,
  "delivered email": `
    Email Delivered, Email Received, Received Email, Email Delivered, Order Confirmation Email Delivered,
    Delivery
  `,
  "open email": `
    Email Opened, Opened Email, Email Open, MOE_EMAIL_OPEN, Open Email, Opened Sales Email, Klaviyo: Opened
    Email, Welcome Email Opened, initial_open, Newsletter Opened
  `,
  "click email": `
    Email Link Clicked, Clicked Email, Email Click, Click Email
  `,
  "bounce email": `
    Email Bounced, Email Hardbounced, Bounced Email, Email Bounce, Email Hard Bounced, hard_bounce,
    message.email.hardbounced, SendGrid Bounce, Mailchimp Cleaned
  `,
  "soft_bounce email": `
    Email Soft Bounced, Email Bounced Soft, soft_bounce, users.messages.email.SoftBounce
  `,
  "subscription_state email group": `
    Subscription Group State Changed
  `,
  "open other": `
    Push Notification Tapped, In-App Message Viewed, News Feed Viewed, News Feed Card Viewed, Content Card
    Viewed, Push Opened, In-App Message Displayed, In-App Message Page Displayed, Opened Push, inAppOpen,
    inboxMessageImpression, whatsAppSeen, Mobile In-App Shown, WhatsApp Message Read, Notification Viewed, Push
    Impressions, message.iam.page_displayed, message.iam.impression, users.messages.inappmessage.Impression,
    IN_APP_MESSAGE_DISPLAY, Message Center Read, Banner Viewed, Push Notification Opened
  `,
  "other other": `
    iOS Foreground Push Opened, SMS Inbound Received, Content Card Dismissed, SMS Received, In-App Message
    Dismissed, In-App Dismissed, inAppDelete, smsReceived, Notification Cleared Android, Mobile In-App Closed,
    Notification Dismissed, Reply Sent, users.messages.pushnotification.IosForeground,
    users.messages.contentcard.Dismiss, Push Notification Dismissed
  `,
  "delivered other": `
    SMS Delivered, Push Received, Received SMS, Received Automated Response SMS, Received Push, Notification
    Received Android, NOTIFICATION_RECEIVED_MOE, WhatsApp Message Delivered, Message Center Delivery, Push
    Notification Received, Push Notification Delivered, Live Activity Delivered
  `,
  "conversion": `
    Campaign Converted, Canvas Converted, Email Converted, SMS Converted
  `,
  "opt_in email": `
    Email Subscribed, Subscribed to Email Marketing, Email Subscribe
  `,
  "failed other": `
    SMS Failed, Push Dropped, SMS Undelivered, Webhook Failed, Failed to Deliver SMS, Failed to deliver
    Automated Response SMS, inAppSendSkip, webPushSendSkip, Channel Unreachable, message.sms.failed, PushNotSent
  `,
  "open email machine": `
    Email Machine Opened
  `,
  "unsubscribe email group": `
    Unsubscribed From Group, Group Unsubscribe, Unsubscribed from List, Channel Unsubscribed
  `,
  "opt_in email group": `
    Resubscribed To Group, Group Resubscribe, Subscribed to List
  `,
  "unsubscribe other": `
    Unsubscribed from SMS Marketing, SMS Unsubscribed, SMS Opted Out, Push Opted Out, Opted Out of SMS
  `,
  "sent": `
    Blast Send, Campaign Sent
  `,
  "other": `
    Hosted Unsubscribe Click, hostedUnsubscribeClick, Received Forward to Friend Email
  `,
  "delivered": `
    $campaign_delivery
  `,
  "open": `
    $campaign_open
  `,
  "bounce": `
    Campaign Bounced
  `,
  "unsubscribe": `
    Campaign Unsubscribed
  `,
  "other email": `
    Email Replied, Email Forwarded
  `,
  "click email machine": `
    Email Bot Clicked
  `,
  "subscription_state email": `
    SubscriptionChange
  `,
}

/** Names of what people do in shops and apps. */
const businessNames = `
    Trial Started, Order Completed, Product Added, Checkout Started, Signed Up, Email Verified, Email Submitted,
    Email Entered, Email Captured, Email Signup, Newsletter Signup, Newsletter Subscribed, Lead Captured,
    Subscribed, Subscription Started, Subscription Cancelled, Subscription Renewed, Opted In, Campaign Created,
    Campaign Viewed, Workflow Completed, Flow Completed, Program Joined, Order Delivered, Order Shipped, Package
    Delivered, Credit Line Opened, Account Opened, App Opened, Application Opened, Ticket Closed, Product
    Clicked, Product Viewed, Video Viewed, Page Viewed, Link Clicked, Button Clicked, Referral Email Sent,
    Invite Sent, Invitation Email Sent, Chat Message Sent, Support Message Sent, Quote Sent, Card Declined, Card
    Added, Payment Failed, Invoice Sent, Document Opened, Application Rejected, Appointment Scheduled, Call
    Scheduled, Message Board Created, Email Shared With Friend, Email Registered, Email Added, Phone Verified,
    Text Entered, Push-Up Completed, Demo Requested, Form Submitted, Review Submitted, Converted to Paid, Trial
    Converted, Read Article, Mail Order Placed, Mailbox Created, Inbox Connected, SMS Plan Purchased, Email Plan
    Upgraded, Notification Enabled, Push Enabled, Notification Settings Opened, Experiment Viewed, Survey
    Completed
`

const textOf = (name: string): string => {
  const found = messageEventOf(name)
  if (found === undefined) return "none"
  return [
    found.meaning,
    found.isEmail ? "email" : "other",
    ...(found.automated === true ? ["machine"] : []),
    ...(found.ofGroup === true ? ["group"] : []),
  ].join(" ")
}

describe("names of message events", () => {
  for (const [meaning, names] of Object.entries(meanings)) {
    it(`recognizes names that mean: ${meaning}`, () => {
      for (const name of listOf(names)) assert.match(textOf(name), new RegExp(`^${meaning}`), name)
    })
  }

  it("recognizes names without a channel, and names that differ from their words", () => {
    const names: ReadonlyArray<readonly [name: string, text: string]> = [
      ["Campaign Enroll In Control", "ignored email"],
      ["Canvas Exit Matched Audience", "ignored email"],
      ["Feature Flag Impression", "ignored email"],
      ["First Opt-in", "ignored email"],
      ["Influenced Open", "open other"],
      ["RICH_DELIVERY", "delivered other"],
      ["SHORT_LINK_CLICK", "click other"],
      ["SMS STOP Received", "unsubscribe other"],
      ["Unsubscribed From Marketing", "unsubscribe email"],
      ["Email Invalid", "bounce email"],
      ["Triggered Send", "sent email"],
      ["Autoreply Received", "other email"],
    ]
    for (const [name, text] of names) assert.strictEqual(textOf(name), text, name)
  })

  it("suppresses nobody by an opt-out, a complaint or a bounce that did not happen", () => {
    const names: ReadonlyArray<readonly [text: string, names: string]> = [
      [
        "ignored email",
        `email.unsubscribe_failed, Email Unsubscribe Attempt, Email Unsubscribe Cancelled, Email Unsubscribe Page Viewed,
        Email Opt Out Rejected, Email Unsubscribe Queued, Email Spam Report Viewed`,
      ],
      [
        "failed email",
        `Email Spam Blocked, Email Spam Rejected, Message Rejected Spam, email.spam_failure, Email Bounce Drop,
        Email Spam Bounce, Email Bounce Suppressed`,
      ],
      ["unsubscribe email", "Email Unsubscribe Processed, Email Unsubscribe Received"],
      ["spam email", "Email Spam Report, Email Complaint Received, Email Marked As Spam"],
      ["bounce email", "Email Delivery Bounced, Email Bounce Processed"],
    ]
    for (const [text, list] of names) {
      for (const name of listOf(list)) assert.strictEqual(textOf(name), text, name)
    }
  })

  it("leaves names of business events alone", () => {
    for (const name of listOf(businessNames)) assert.strictEqual(textOf(name), "none", name)
  })

  it("reads names in any case and with any separators", () => {
    for (const name of ["email_soft_bounced", "EMAIL-SOFT-BOUNCED", "emailSoftBounced", " Email  Soft Bounced "]) {
      assert.strictEqual(textOf(name), "soft_bounce email", name)
    }
  })

  it("reads hostile names in linear time", () => {
    for (const name of ["", " ", "\u0000", "email ".repeat(5_000), "constructor", "__proto__", "\ud800"]) {
      assert.strictEqual(textOf(name), "none")
    }
  })
})
