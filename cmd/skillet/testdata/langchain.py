"""Calls a tool of the service through LangChain's adapter, as an agent does: URL TOKEN ARGUMENT.

A call that a person has to decide about is printed, and made again after a line was read.
"""

import asyncio
import json
import sys

from langchain_core.tools import ToolException
from langchain_mcp_adapters.client import MultiServerMCPClient


async def main(url, token, argument):
    client = MultiServerMCPClient(
        {"skillet": {"transport": "streamable_http", "url": url, "headers": {"Authorization": "Bearer " + token}}}
    )
    tools = {tool.name: tool for tool in await client.get_tools()}
    print(json.dumps(sorted(tools)), flush=True)
    for _ in range(2):
        try:
            answer = await tools["web__fetch"].ainvoke({"url": argument})
            print(json.dumps({"answer": answer}, default=str), flush=True)
        except ToolException as error:
            print(json.dumps({"paused": str(error)}), flush=True)
        await asyncio.to_thread(sys.stdin.readline)


asyncio.run(main(*sys.argv[1:]))
