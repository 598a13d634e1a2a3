// The list of the vendors that this gateway can connect to. Nothing but this list must name a kind.

import type { UpstreamKind } from '../../contract/upstream'
import { anthropic } from './anthropic'
import { ark } from './ark'
import { azure } from './azure'
import { cohere } from './cohere'
import { dashscope } from './dashscope'
import { google } from './google'
import { openai } from './openai'
import { voyage } from './voyage'
import { xai } from './xai'

export const upstreamKinds: ReadonlyMap<string, UpstreamKind> = new Map(
  [openai, dashscope, google, voyage, xai, anthropic, ark, cohere, azure].map((kind) => [kind.kind, kind]),
)
