// Sends an event as a message by SMTP. Nothing must be sent to a server over an unencrypted connection, unless the operator has
// asked for that, and no answer may show the password.

import { readFileSync } from 'node:fs'
import { connect, type Socket } from 'node:net'
import type { SmtpEntry } from '../config/events'
import { type AttemptAnswer, noAnswer } from '../webhooks/attempt'

interface Message {
  /** Stays the same over all attempts, so that mail programs can show repeats once. */
  id: string
  to: readonly string[]
  subject: string
  text: string
  /** When it is sent, in milliseconds since 1970. */
  at: number
}

const TLS_PORT = 465
const STARTTLS_PORT = 587
/** Maximum wait for a connection, for the greeting, and for any further answer. The attempt as a whole ends sooner. */
const STEP_TIMEOUT_MS = 15_000
const SENT = 250

/** Makes one attempt to send a message. Never throws: a refusal is a result too. */
export async function sendMail(
  smtp: SmtpEntry,
  message: Message,
  signal: AbortSignal,
): Promise<AttemptAnswer> {
  const sockets: Socket[] = []
  try {
    // The library is loaded when the first message is sent: most gateways never send one.
    const { createTransport } = await import('nodemailer')
    const transporter = createTransport({
      ...optionsOf(smtp),
      // Our own socket can be ended at any moment, whatever the server does.
      getSocket({ host, port }, done) {
        const connection = connect({ host: host as string, port: Number(port) })
        sockets.push(connection)
        done(null, { connection })
      },
    })
    const { promise: cut, reject } = Promise.withResolvers<never>()
    signal.addEventListener('abort', () => reject(signal.reason), { once: true })
    if (signal.aborted) reject(signal.reason)
    const { id, to, subject, text, at } = message
    const host = smtp.from.slice(smtp.from.lastIndexOf('@') + 1)
    const sending = transporter.sendMail({
      from: smtp.from,
      to: [...to],
      subject,
      text,
      date: new Date(at),
      messageId: `<${id}@${host}>`,
      // No out-of-office replies.
      headers: { 'auto-submitted': 'auto-generated' },
    })
    // Work after a cut ends with the connection.
    sending.catch(() => {})
    const { response } = (await Promise.race([sending, cut])) as { response: string }
    return { status: statusOf(response) ?? SENT, text: shown(response, smtp), retryAfterMs: 0 }
  } catch (error) {
    const { responseCode, message: reason } = error as Error & { responseCode?: number }
    if (responseCode === undefined) return noAnswer(shown(`No message was sent: ${reason}`, smtp))
    return { status: responseCode, text: shown(reason, smtp), retryAfterMs: 0 }
  } finally {
    for (const socket of sockets) socket.destroy()
  }
}

function optionsOf({ host, port, security, caFile, user, password }: SmtpEntry) {
  const secure = security === 'tls' || (security === undefined && port === TLS_PORT)
  return {
    host,
    port: port ?? (secure ? TLS_PORT : STARTTLS_PORT),
    secure,
    requireTLS: !secure && security !== 'none',
    ignoreTLS: security === 'none',
    ...(caFile !== undefined && { tls: { ca: readFileSync(caFile, 'utf8') } }),
    ...(user !== undefined && password !== undefined && { auth: { user, pass: password } }),
    connectionTimeout: STEP_TIMEOUT_MS,
    greetingTimeout: STEP_TIMEOUT_MS,
    socketTimeout: STEP_TIMEOUT_MS,
    disableFileAccess: true,
    disableUrlAccess: true,
  }
}

function statusOf(response: string): number | undefined {
  const [code] = /^\d{3}/.exec(response) ?? []
  return code === undefined ? undefined : Number(code)
}

const KEPT_LENGTH = 1_024

/** An answer without the parts of the sign-in that the server may repeat. */
function shown(text: string, { user, password }: SmtpEntry): string {
  const base64 = (plain: string) => Buffer.from(plain).toString('base64')
  const secrets = password === undefined ? [] : [password, base64(password), base64(`\0${user}\0${password}`)]
  const hidden = secrets.reduce((rest, secret) => rest.replaceAll(secret, '[hidden]'), text)
  return hidden.slice(0, KEPT_LENGTH).replace(/[^\P{Cc}\n\t]/gu, '\ufffd')
}
