// One attempt to send an event to its recipient as currently configured: a signed webhook, a chat message, or mail. Its addresses
// and secrets are only in the configuration, and must not get into a row or a line of the log.

import { type EventSettings, eventSettingsOf } from '../config/events'
import type { Config } from '../config/schema'
import { type EventBody, TEST_EVENT } from '../contract/events'
import { isoTime } from '../db/iso-time'
import {
  type AttemptAnswer,
  type AttemptWorld,
  attemptDelivery,
  noAnswer,
  signatureHeaders,
} from '../webhooks/attempt'
import type { DueEvent, WebhookWorld } from '../webhooks/sender'
import { sendMail } from './mail'
import { type EventText, textOfEvent } from './text'

/** Sends according to the configuration at the time of each attempt. */
export function sendEventsBy(world: { readonly config: Pick<Config, 'events'> }): WebhookWorld['sendEvent'] {
  return (event, ways, signal) =>
    sendEvent(eventSettingsOf(world.config.events ?? { to: {} }), event, ways, signal)
}

/** Makes one attempt. Never throws for anything that the recipient does. */
export async function sendEvent(
  { to, smtp }: Pick<EventSettings, 'to' | 'smtp'>,
  { id, recipient, body, at }: DueEvent,
  world: AttemptWorld,
  signal: AbortSignal,
): Promise<AttemptAnswer> {
  const { webhook, secret, slack, email } = to.get(recipient) ?? {}
  // The receiver of a recipient shares no connection with callers' receivers.
  const from = { account: `recipient ${recipient}`, at }
  if (webhook !== undefined && secret !== undefined) {
    const headers = signatureHeaders(id, body, [secret], at)
    return attemptDelivery(world, { ...from, url: webhook, body, headers }, signal)
  }
  const text = textOfEvent(JSON.parse(body) as EventBody)
  if (slack !== undefined) {
    const headers = { 'content-type': 'application/json' }
    return attemptDelivery(world, { ...from, url: slack, body: chatBodyOf(text), headers }, signal)
  }
  if (email !== undefined && smtp !== undefined) {
    const message = { id, to: email, subject: `[gateway] ${text.title}`, text: mailTextOf(text, id), at }
    return sendMail(smtp, message, signal)
  }
  return noAnswer(`The recipient ${recipient} is no longer in events.to.`)
}

/** The event that tests a recipient. */
export function testEvent(id: string, now: number): EventBody {
  return { id, type: TEST_EVENT, timestamp: isoTime(now), data: { state: 'began', items: [] } }
}

/** The body of Slack's incoming webhooks, whose text has three characters with a meaning. */
function chatBodyOf({ title, lines }: EventText): string {
  const text = lines.length === 1 ? lines : [title, ...lines.map((line) => `• ${line}`)]
  const escaped = text.join('\n').replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
  return JSON.stringify({ text: escaped })
}

function mailTextOf({ lines }: EventText, id: string): string {
  return `${lines.join('\n')}\n\n-- \nUnified Model Gateway, event ${id}\n`
}
