// Messages of Anthropic-format upstreams (spec, POST /v1/messages): the caller's text and beta headers go through, only the
// model is swapped. Unknown fields, blocks and events pass: clients and models know more of them than we do.

import type { Family } from '../family'
import {
  MessagesBody,
  plainMessages,
  quoteMessages,
  readMessage,
  readMessageEvent,
  textsOfMessages,
} from './messages'

export const anthropicMessages: Family<MessagesBody> = {
  name: 'anthropic-messages',
  operation: 'messages',
  units: [['input_token', 'output_token']],
  dialect: 'anthropic',
  body: MessagesBody,
  quote: quoteMessages,

  call({ body, headers }, model) {
    const swap =
      model.upstreamModel === body.model ? {} : { set: { model: JSON.stringify(model.upstreamModel) } }
    return {
      path: '/messages',
      protocol: 'native',
      ...(headers && { headers }),
      body: { edit: swap },
      stream: body.stream === true,
    }
  },

  read: readMessage,

  stream: {
    end: '{"type":"message_stop"}',
    // Its figures stand in events that callers need for other things too.
    showsUsage: () => true,
    read: readMessageEvent,
  },

  texts: textsOfMessages,
  plain: plainMessages,
}
