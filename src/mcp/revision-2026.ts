// Serves the revision 2026-07-28 of MCP, which has neither sessions nor a handshake. Its SDK is
// @modelcontextprotocol/server, which follows @modelcontextprotocol/sdk 1.

import { createMcpHandler, Server } from '@modelcontextprotocol/server'
import type { Served } from './server'

export async function answerIn2026(request: Request, value: object, served: Served): Promise<Response> {
  const { info, instructions, tools, isCall, keepAliveMs } = served
  const server = new Server(info, { capabilities: { tools: {} }, instructions })
  server.setRequestHandler('tools/list', () => ({ tools }))
  server.setRequestHandler('tools/call', ({ params }, { mcpReq: { _meta, notify } }) =>
    served.call(params, (progress, message) => {
      const progressToken = _meta?.progressToken
      if (progressToken === undefined) return
      // The caller may have disconnected.
      notify({ method: 'notifications/progress', params: { progressToken, progress, message } }).catch(
        () => {},
      )
    }),
  )
  const handler = createMcpHandler(() => server, {
    legacy: 'reject',
    // The tools never change while a gateway runs, so there is nothing to subscribe to.
    maxSubscriptions: 0,
    keepAliveMs,
    responseMode: isCall ? 'sse' : 'auto',
  })
  return handler.fetch(request, { parsedBody: value })
}
