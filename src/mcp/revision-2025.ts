// Serves the revisions of MCP up to 2025-11-25, the last one in @modelcontextprotocol/sdk 1. It must keep no session.

import { Server } from '@modelcontextprotocol/sdk/server/index.js'
import { WebStandardStreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/webStandardStreamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { CallToolRequestSchema, ListToolsRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Served } from './server'

export async function answerIn2025(request: Request, value: object, served: Served): Promise<Response> {
  const { info, instructions, tools, isCall, keepAliveMs } = served
  const server = new Server(info, { capabilities: { tools: {} }, instructions })
  server.setRequestHandler(ListToolsRequestSchema, () => ({ tools }))
  server.setRequestHandler(CallToolRequestSchema, ({ params }, { sendNotification, _meta }) =>
    served.call(params, (progress, message) => {
      const progressToken = _meta?.progressToken
      if (progressToken === undefined) return
      const notified = {
        method: 'notifications/progress',
        params: { progressToken, progress, message },
      } as const
      // The caller may have disconnected.
      sendNotification(notified).catch(() => {})
    }),
  )
  const transport = new WebStandardStreamableHTTPServerTransport({ enableJsonResponse: !isCall, keepAliveMs })
  await server.connect(transport as Transport)
  return transport.handleRequest(request, { parsedBody: value })
}
