import { assert, describe, it } from "@effect/vitest"
import { Buffer } from "node:buffer"
import { deliveryHeader, normalizeMail, senderHeader } from "../../../src/intake/mail/MailReports.ts"
import { receivedAt, told } from "./reading.ts"
import * as samples from "./samples.ts"

const fromNobody = { [deliveryHeader]: samples.deliveryId, [senderHeader]: "" }
const fromSomebody = { [deliveryHeader]: samples.deliveryId, [senderHeader]: "eva@mail.example" }

/** The event of a mail in UTF-8 with a null sender. */
const seen = async (from: string, subject: string, text: string, ...headers: ReadonlyArray<string>) => {
  const mail = samples.mail(
    ...(from === "" ? [] : [`From: ${from}`]),
    `Subject: ${subject}`,
    ...headers,
    "MIME-Version: 1.0",
    "Content-Type: text/plain; charset=utf-8",
    "",
    text,
  )
  const normalized = await normalizeMail(Buffer.from(mail), fromNobody, receivedAt)
  if ("reason" in normalized) return "none"
  return normalized.skipped[0] === undefined ? normalized.events[0]!.event : "none"
}

const eva = "eva@mail.example"

describe("A mail without a report, from the null sender to a return path", () => {
  it("is a bounce whatever From and Subject are, if it has a reply code with an enhanced code", async () => {
    const text = `We are sorry.\n550 5.1.1 <${eva}> User unknown\n`
    const froms = [
      "",
      "<>",
      "mailer-daemon",
      "=?utf-8?B?TWFpbCBEZWxpdmVyeSBTdWJzeXN0ZW0=?= <no-reply@mx.mail.example>",
      "=?iso-2022-jp?B?GyRCJWEhPCVrGyhC?= <system@mx.mail.example>",
      '"Systemadministrator" <noreply@mail.example>',
      "Hotline <hotline@mail.example>",
    ]
    const subjects = [
      "",
      "Mail",
      "=?utf-8?Q?R=C3=BCckgabe?=",
      "=?koi8-r?B?7sXEz9PUwdfMxc4=?=",
      "Mensaje no entregado",
      "Ihre Nachricht",
      "There was an error sending your mail",
    ]
    for (const from of froms) {
      for (const subject of subjects) assert.strictEqual(await seen(from, subject, text), "bounce")
    }
    assert.strictEqual(await seen("mailer-daemon", "Error", text, "Precedence: bulk"), "bounce")
    assert.strictEqual(await seen("mailer-daemon", "Error", text, "Auto-Submitted: auto-replied"), "bounce")
    assert.strictEqual(await seen("Relay <r@mail.example>", "Error", text, "Auto-Submitted: auto-generated"), "bounce")
  })

  it("is a bounce by a phrase alone in many languages", async () => {
    const texts: ReadonlyArray<readonly [string, "bounce" | "soft_bounce"]> = [
      [`Your message could not be delivered: no such user ${eva}`, "bounce"],
      [`${eva}: Empfänger unbekannt`, "bounce"],
      [`Das Postfach von ${eva} ist voll.`, "soft_bounce"],
      [`Destinataire inconnu : ${eva}`, "bounce"],
      [`La boîte aux lettres est pleine`, "soft_bounce"],
      [`El usuario no existe en este servidor`, "bounce"],
      [`Buzón lleno`, "soft_bounce"],
      [`Utente sconosciuto: ${eva}`, "bounce"],
      [`A caixa postal cheia não recebe mensagens`, "soft_bounce"],
      [`Endereço não encontrado`, "bounce"],
      [`Gebruiker onbekend`, "bounce"],
      [`Skrzynka odbiorcy jest pełna`, "soft_bounce"],
      [`Nie ma takiego użytkownika`, "bounce"],
      [`Пользователь не найден`, "bounce"],
      [`Почтовый ящик переполнен`, "soft_bounce"],
      [`メールボックスが一杯のため、送信できませんでした。`, "soft_bounce"],
      [`宛先のメールアドレスが存在しませんでした。`, "bounce"],
      [`收件人不存在`, "bounce"],
      [`郵件地址不存在`, "bounce"],
      [`존재하지 않는 사용자입니다`, "bounce"],
      [`Kullanıcı bulunamadı`, "bounce"],
      [`Mottagaren finns inte`, "bounce"],
      [`Postilaatikko on täynnä`, "soft_bounce"],
      [`Uživatel neexistuje`, "bounce"],
      [`Meddelelsen kunne ikke leveres`, "soft_bounce"],
    ]
    for (const [text, event] of texts) {
      assert.strictEqual(await seen("Server <s@mail.example>", "Info", text), event, text)
    }
  })

  it("is read in sentences of providers in their languages", async () => {
    const texts: ReadonlyArray<readonly [string, "bounce" | "soft_bounce" | "failed"]> = [
      [
        `Ihre Nachricht an ${eva} konnte nicht zugestellt werden.\nGrund: Die E-Mail-Adresse existiert nicht.`,
        "bounce",
      ],
      [`Der Empfänger ${eva} ist unbekannt.`, "bounce"],
      [`Das Postfach existiert nicht.`, "bounce"],
      [`Der Benutzer ist hier nicht bekannt.`, "bounce"],
      [`Adressat unbekannt: ${eva}`, "bounce"],
      [`Die Mailbox des Empfängers ist voll. Bitte versuchen Sie es später.`, "soft_bounce"],
      [`Speicherplatz des Empfängers ist erschöpft.`, "soft_bounce"],
      [`L'adresse ${eva} n'existe pas.`, "bounce"],
      [`Le destinataire ${eva} est introuvable.`, "bounce"],
      [`Utilisateur inconnu`, "bounce"],
      [`Cette adresse électronique n'est plus valide`, "bounce"],
      [`La boîte aux lettres du destinataire est saturée.`, "soft_bounce"],
      [`Le destinataire a dépassé son quota.`, "soft_bounce"],
      [`La dirección de correo ${eva} no existe.`, "bounce"],
      [`No se ha encontrado el destinatario.`, "bounce"],
      [`Usuario desconocido`, "bounce"],
      [`La cuenta de correo no existe`, "bounce"],
      [`El buzón del destinatario está lleno.`, "soft_bounce"],
      [`El destinatario ha excedido su cuota de almacenamiento`, "soft_bounce"],
      [`L'indirizzo ${eva} non esiste.`, "bounce"],
      [`Destinatario inesistente`, "bounce"],
      [`Casella di posta inesistente`, "bounce"],
      [`La casella del destinatario è piena.`, "soft_bounce"],
      [`Quota superata per il destinatario`, "soft_bounce"],
      [`O endereço de e-mail ${eva} não existe.`, "bounce"],
      [`Usuário desconhecido`, "bounce"],
      [`Destinatário inexistente`, "bounce"],
      [`Conta inexistente`, "bounce"],
      [`Caixa de correio cheia`, "soft_bounce"],
      [`A caixa de entrada do destinatário está cheia.`, "soft_bounce"],
      [`Het e-mailadres ${eva} bestaat niet.`, "bounce"],
      [`Onbekende gebruiker`, "bounce"],
      [`Geadresseerde onbekend`, "bounce"],
      [`De mailbox van de ontvanger is vol.`, "soft_bounce"],
      [`Adres ${eva} nie istnieje.`, "bounce"],
      [`Nieznany użytkownik`, "bounce"],
      [`Konto nie istnieje`, "bounce"],
      [`Nieznany adresat`, "bounce"],
      [`Skrzynka pocztowa jest przepełniona`, "soft_bounce"],
      [`Адрес ${eva} не существует.`, "bounce"],
      [`Такого пользователя нет`, "bounce"],
      [`Неизвестный получатель`, "bounce"],
      [`Почтовый ящик не существует`, "bounce"],
      [`Ящик получателя переполнен.`, "soft_bounce"],
      [`Письмо отклонено как спам`, "failed"],
      [`ユーザーが見つかりません。`, "bounce"],
      [`宛先のアドレスは存在しません。`, "bounce"],
      [`受信者が不明です`, "bounce"],
      [`あて先が見つかりませんでした。`, "bounce"],
      [`メールボックスの容量を超えています。`, "soft_bounce"],
      [`受信者のメールボックスがいっぱいです。`, "soft_bounce"],
      [`收件人邮箱地址不存在，邮件无法送达。`, "bounce"],
      [`该邮箱地址不存在`, "bounce"],
      [`您的邮件被退回：用户不存在。`, "bounce"],
      [`帐号不存在`, "bounce"],
      [`收件人邮箱空间已满。`, "soft_bounce"],
      [`邮件被识别为垃圾邮件`, "failed"],
      [`查無此收件人`, "bounce"],
      [`收件者信箱不存在`, "bounce"],
      [`수신자를 찾을 수 없습니다.`, "bounce"],
      [`존재하지 않는 메일 주소입니다.`, "bounce"],
      [`없는 계정입니다`, "bounce"],
      [`받는 사람의 메일함이 가득 찼습니다.`, "soft_bounce"],
      [`메일함 용량이 초과되었습니다.`, "soft_bounce"],
      [`Böyle bir kullanıcı yok`, "bounce"],
      [`${eva} adresi mevcut değil`, "bounce"],
      [`Alıcı bulunamadı`, "bounce"],
      [`Alıcının posta kutusu dolu`, "soft_bounce"],
      [`Adressen finns inte`, "bounce"],
      [`Okänd mottagare`, "bounce"],
      [`Mottagarens brevlåda är full`, "soft_bounce"],
      [`Modtageren findes ikke`, "bounce"],
      [`Ukjent mottaker`, "bounce"],
      [`Vastaanottajaa ei löydy`, "bounce"],
      [`Tuntematon vastaanottaja`, "bounce"],
      [`Příjemce neexistuje`, "bounce"],
      [`Neznámý uživatel`, "bounce"],
      [`Schránka příjemce je plná`, "soft_bounce"],
      [`A címzett nem található`, "bounce"],
      [`Ismeretlen felhasználó`, "bounce"],
      [`Utilizatorul nu există`, "bounce"],
      [`Ο παραλήπτης δεν βρέθηκε`, "bounce"],
      [`المستخدم غير موجود`, "bounce"],
      [`המשתמש לא קיים`, "bounce"],
      [`Người dùng không tồn tại`, "bounce"],
      [`Pengguna tidak ditemukan`, "bounce"],
      [`Користувача не знайдено`, "bounce"],
      [`ไม่พบผู้ใช้`, "bounce"],
    ]
    const wrong: Array<readonly [string, string]> = []
    for (const [text, event] of texts) {
      const actual = await seen("Post <post@mail.example>", "=?utf-8?Q?Zur=C3=BCck?=", text)
      if (actual !== event) wrong.push([text, actual])
    }
    assert.deepStrictEqual(wrong, [])
  })

  it("fails without blaming the address if it refuses the sender or the content", async () => {
    const texts = [
      "554 5.7.1 Client host [192.0.2.7] blocked using zen.list.example",
      "Your message was rejected: spam detected",
      "550 5.7.25 the sending address 192.0.2.7 has no PTR record",
      "Absender abgelehnt",
      "550 5.2.0 Mail rejete. Mail rejected. OFR_506 [506]",
    ]
    for (const text of texts) assert.strictEqual(await seen("System <s@mail.example>", "Info", text), "failed", text)
  })

  it("is none if a program answers for a person, whatever numbers and words it has", async () => {
    const words = "I am away. Dial 550 5111, extension 5.1.1. Mailbox full? User unknown? Write to desk@mail.example."
    const marks: ReadonlyArray<readonly [subject: string, ...headers: ReadonlyArray<string>]> = [
      ["Hello", "Auto-Submitted: auto-replied"],
      ["Hello", "Auto-Submitted: auto-replied; owner-email=eva@mail.example"],
      ["Hello", "Precedence: auto_reply"],
      ["Hello", "X-Autoreply: yes"],
      ["Hello", "X-Autorespond: yes"],
      ["Automatic reply: Your basket"],
      ["Out of the office"],
      ["=?utf-8?Q?Abwesenheitsnotiz=3A_Gr=C3=BC=C3=9Fe?="],
      ["Réponse automatique : panier"],
      ["Respuesta automática: cesta"],
      ["Risposta automatica: carrello"],
      ["Resposta automática: cesto"],
      ["Automatisch antwoord: mand"],
      ["Odpowiedź automatyczna: koszyk"],
      ["Автоответ: корзина"],
      ["自動応答: カート"],
      ["自动回复: 购物车"],
      ["부재중 알림"],
      ["Otomatik yanıt: sepet"],
      ["Autosvar: korgen"],
    ]
    for (const [subject, ...headers] of marks) {
      assert.strictEqual(await seen(`Eva <${eva}>`, subject, words, ...headers), "none", `${subject} ${headers}`)
    }
  })

  it("is none if it has no reason, reports a success or a delay, or asks something", async () => {
    const mails: ReadonlyArray<readonly [subject: string, text: string]> = [
      ["Your ticket 5.1.1-550", "Thank you. We answer within two working days."],
      ["Delivered", `Your message was successfully delivered to ${eva} (250 2.1.5 OK).`],
      ["Receipt", `Message accepted for ${eva}: 250 2.6.0 queued`],
      ["Warning: message delayed 24 hours", "The server will keep trying. 451 4.4.1 timed out"],
      ["Verzögerte Zustellung", "Es sind keine Schritte nötig. 451 4.4.1"],
      ["Please confirm", "Click here so that your message reaches me. Call 550 555 5111."],
      ["Hello", "We are at 550 Market Street, floor 5.1.1."],
      ["Change", "My new telephone is 555 0100 and I have changed jobs."],
      ["Newsletter", "Spam is a problem, say experts on policy. Read about reputation and quotas."],
      ["", ""],
    ]
    for (const [subject, text] of mails) {
      assert.strictEqual(await seen("Desk <desk@mail.example>", subject, text), "none", subject)
    }
  })

  it("is read up to the message that it encloses, whose words say nothing", async () => {
    const enclosed = `Message-ID: <${samples.deliveryId}@shop.example>\nSubject: Mailbox full? No such user? 552 5.2.2`
    const beginnings = [
      "--- Below this line is a copy of the message.",
      "----- Original message -----",
      "------ This is a copy of your message, including all the headers. ------",
      "Original message follows.",
      "-------original message",
      "   ----- Unsent message follows -----",
      "----- Mensaje original -----",
      "Received: from shop.example by relay.example",
      "DKIM-Signature: v=1; a=rsa-sha256; d=shop.example",
      `X-Tracking-Id: ${samples.deliveryId}`,
    ]
    for (const beginning of beginnings) {
      const text = `550 5.1.1 <${eva}> User unknown\n\n${beginning}\n\n${enclosed}`
      assert.strictEqual(await seen("relay@mail.example", "Error", text), "bounce", beginning)
    }
  })

  it("is read in HTML, and as it stands where its parts cannot be found", async () => {
    const html = samples.mail(
      "From: System <s@mail.example>",
      "Subject: Info",
      "Content-Type: text/html; charset=utf-8",
      "",
      `<p class="no such user">Sorry.</p><p><b>550</b> 5.1.1 &lt;${eva}&gt; User <i>unknown</i></p>`,
    )
    assert.strictEqual(await told(html, fromNobody), "bounce")
    const broken = samples.mail(
      "From: MAILER-DAEMON@mail.example",
      "Subject: Undelivered Mail",
      'Content-Type: multipart/report; report-type=delivery-status; boundary="a"',
      "",
      "--b",
      "",
      `<${eva}>: host mx.mail.example said: 550-5.1.1 no such account`,
      "--b--",
    )
    assert.strictEqual(await told(broken, fromNobody), "bounce")
  })

  it("differs from a mail with a sender, which is no bounce by its words", async () => {
    const text = samples.mail(`From: ${eva}`, "Subject: Info", "", "550 5.1.1 User unknown")
    assert.strictEqual(await told(text, fromNobody), "bounce")
    assert.match(await told(text, fromSomebody), /^fault: The mail is neither/)
  })
})

describe("A delivery report without a diagnostic", () => {
  const reported = (text: string, status = "5.0.0", ...more: ReadonlyArray<string>) =>
    told(samples.report({
      text: [text],
      recipients: [[`Final-Recipient: rfc822; ${eva}`, "Action: failed", `Status: ${status}`, ...more]],
    }))

  it("has the reason in the text for people", async () => {
    const texts: ReadonlyArray<readonly [string, string]> = [
      [`Hi! An error occurred for these recipients:\n\n${eva}: Domain does not exist`, "bounce"],
      [`${eva}: 550 5.1.1 user unknown`, "bounce"],
      [
        `<${eva}>: host mx.mail.example[192.0.2.7] said: 550 5.1.1 no such user (in reply to RCPT TO command)`,
        "bounce",
      ],
      [`${eva}: 552 5.2.2 Mailbox full`, "soft_bounce"],
      [`Recipient ${eva}: inbox is full`, "soft_bounce"],
      [`${eva}: 550 5.2.1 The account is disabled`, "soft_bounce"],
      [`${eva}: 550 5.7.25 192.0.2.7 has no PTR record; spam policy`, "failed"],
      [`${eva}: 554 5.7.1 message rejected as spam`, "failed"],
      [`${eva}: Connection timed out`, "soft_bounce"],
      ["The message was refused.", "soft_bounce"],
      [`Destinatario no encontrado: ${eva}`, "bounce"],
    ]
    for (const [text, event] of texts) {
      assert.strictEqual(await reported(text), event, text)
    }
  })

  it("has the reason in its status where the text has none", async () => {
    assert.strictEqual(await reported("Sorry.", "5.1.1"), "bounce")
    assert.strictEqual(await reported("Sorry.", "5.2.2"), "soft_bounce")
    assert.strictEqual(await reported("Sorry.", "5.7.1"), "failed")
    assert.strictEqual(await reported(`${eva}: 554 5.7.1 blocked using a block list`, "5.1.1"), "failed")
  })

  it("ignores the text where a diagnostic says something", async () => {
    const text = "If the mailbox is full or the user unknown, write to the postmaster."
    assert.strictEqual(await reported(text, "5.0.0", "Diagnostic-Code: smtp; 554 5.7.1 refused by policy"), "failed")
    assert.strictEqual(await reported(text, "5.0.0", "Diagnostic-Code: smtp; 554 no"), "soft_bounce")
    const exim = `${eva}\n  SMTP error from remote mail server after`
    const rejected = "Diagnostic-Code: smtp; 550 Rejected"
    assert.strictEqual(await reported(`${exim} EHLO shop.example:\n  550 Rejected`, "5.0.0", rejected), "failed")
    assert.strictEqual(
      await reported(`${exim} MAIL FROM:<a@shop.example>:\n  550 Rejected`, "5.0.0", rejected),
      "failed",
    )
    assert.strictEqual(await reported(`${exim} RCPT TO:<${eva}>:\n  550 Rejected`, "5.0.0", rejected), "soft_bounce")
    assert.strictEqual(await reported(`${eva}: 550 5.1.1 unknown user`, "5.0.0", "Diagnostic-Code: smtp;"), "bounce")
  })
})
