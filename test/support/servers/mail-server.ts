// A mail server on this machine that records the messages that it accepts, with or without encryption and authentication.

import { readFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { SMTPServer, type SMTPServerOptions } from 'smtp-server'

interface ReceivedMail {
  from: string
  to: string[]
  text: string
  /** Whether it came over an encrypted connection, and the authenticated user. */
  secure: boolean
  user: string | undefined
}

interface MailServer extends AsyncDisposable {
  port: number
  received: ReceivedMail[]
  /** The number of connections made. */
  connections: number
}

export const MAIL_USER = 'gateway'
export const MAIL_PASSWORD = 'canary-of-the-mailbox'

const TLS_FOLDER = join(import.meta.dir, '../../fixtures/tls')
const pem = (name: string) => readFileSync(join(TLS_FOLDER, `${name}.pem`), 'utf8')
/** The file with the certificate of the server's authority. */
export const AUTHORITY_FILE = join(TLS_FOLDER, 'authority.pem')

/** Starts a server that encrypts on request, and accepts mail from everybody. */
export async function startMailServer(options: SMTPServerOptions = {}): Promise<MailServer> {
  const server = new SMTPServer({
    key: pem('key'),
    cert: pem('address'),
    authOptional: true,
    disableReverseLookup: true,
    onConnect(_session, done) {
      mail.connections++
      done()
    },
    onAuth({ username, password }, _session, done) {
      if (username === MAIL_USER && password === MAIL_PASSWORD) return done(null, { user: username })
      // Some servers repeat the received text.
      done(Object.assign(new Error(`No user ${username} with ${password}`), { responseCode: 535 }))
    },
    onData(stream, session, done) {
      let text = ''
      stream.on('data', (piece: Buffer) => {
        text += piece.toString()
      })
      stream.on('end', () => {
        const { mailFrom, rcptTo } = session.envelope
        mail.received.push({
          from: mailFrom === false ? '' : mailFrom.address,
          to: rcptTo.map(({ address }) => address),
          text,
          secure: session.secure,
          user: session.user,
        })
        done()
      })
    },
    ...options,
  })
  server.on('error', () => {})
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const mail: MailServer = {
    port: (server.server.address() as AddressInfo).port,
    received: [],
    connections: 0,
    [Symbol.asyncDispose]: () => new Promise<void>((resolve) => server.close(() => resolve())),
  }
  return mail
}
