// All tools of the MCP server, in the order in which they are listed. The order must never change: clients cache the list.

import { createGetPrice, getBalance, listModels } from './account-tools'
import { editImage, generateImage, speak } from './media-tools'
import { paidTool } from './paid-tool'
import { chat, embed, moderate, rerank } from './text-tools'
import { checkArguments, type FreeTool, type McpTool } from './tool'
import { transcribe } from './transcribe'
import { generateVideo, getVideo } from './video-tools'

const paid = [chat, embed, rerank, moderate, speak, transcribe, generateImage, editImage, generateVideo]

export const tools: readonly McpTool[] = [
  freeTool(listModels),
  ...paid.map(paidTool),
  ...[getVideo, getBalance, createGetPrice(paid)].map(freeTool),
]

function freeTool(tool: FreeTool): McpTool {
  return {
    ...tool,
    isPaid: false,
    run(world, gateway, call) {
      checkArguments(tool, call.arguments)
      return tool.run(world, call, gateway)
    },
  }
}
