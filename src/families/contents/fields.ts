// The fields of generateContent that vendors bill separately, or that refer to stored data. Each name is read in two spellings, in any
// mixture. Data only. https://ai.google.dev/gemini-api/docs/pricing

import type { FieldRule } from '../../contract/family'
import { spellings } from '../dialects/gemini/body'
import { geminiRules, soundIn, tierRules } from '../dialects/gemini/fields'
import { ANOTHER_MODEL } from '../surcharges'
import { documentStores, earlierAnswers, namedCaches } from '../vendor-state'

const RUN_BY_VENDOR = {
  why: 'tools that the vendor runs read more than is held for, or are billed per use, which answers do not count',
  instead: 'Leave it out, and give the model your own function for this.',
}

/** The rule in each spelling of its field. */
const spelled = (rule: FieldRule): FieldRule[] => spellings(rule.field).map((field) => ({ ...rule, field }))

export const contentsFieldRules: readonly FieldRule[] = [
  ...geminiRules,
  ...soundIn(
    'contents[].parts[].functionResponse.parts[].inlineData',
    'contents[].parts[].functionResponse.parts[].fileData',
  ),
  ...tierRules,
  ...namedCaches(...spellings('cachedContent')),
  ...documentStores(...spellings('tools[].fileSearch'), 'tools[].retrieval'),
  ...earlierAnswers(...spellings('continuationToken')),
  ...['outputConfig', 'generationOutputConfig', 'modelArmorConfig'].flatMap((field) =>
    spelled({
      field,
      why: "it names content stored in the vendor's account",
      instead: 'Leave it out.',
      state: true,
    }),
  ),
  ...['routingConfig', 'modelConfig', 'modelSelectionConfig'].flatMap((name) =>
    spelled({ field: `generationConfig.${name}`, why: ANOTHER_MODEL, always: true }),
  ),
  ...spelled({
    field: 'generationConfig.responseFormat',
    why: 'it may request pictures, audio or video, which have their own prices',
    instead: "Use 'responseMimeType', 'responseJsonSchema' and 'responseModalities'.",
  }),
  ...spelled({
    field: 'tools[].googleSearch',
    why: 'each web search is billed',
    price: 'web_search',
    orPrice: 'grounded_prompt',
  }),
  // `urlContext` and `codeExecution` cost the tokens of what they find, which the usage reports
  // (ai.google.dev/gemini-api/docs/url-context and …/code-execution, 2026-11).
  ...[
    'googleSearchRetrieval',
    'enterpriseWebSearch',
    'googleMaps',
    'computerUse',
    'mcpServers',
    'parallelAiSearch',
    'exaAiSearch',
  ].flatMap((name) => spelled({ field: `tools[].${name}`, ...RUN_BY_VENDOR })),
  ...spelled({
    field: 'generationConfig.responseModalities[]',
    plain: /^(?:modality_unspecified|text|audio)$/i,
    why: 'pictures in an answer have their own price',
    price: 'output_image_token',
  }),
  ...spelled({
    field: 'generationConfig.responseModalities[]',
    plain: /^(?:modality_unspecified|text|image)$/i,
    why: 'spoken output has its own price',
    price: 'output_audio_token',
  }),
]
