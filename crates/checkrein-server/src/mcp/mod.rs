//! Checkrein as an MCP server, for agents and for the clients people use. It calls the methods the other
//! faces call; nothing here gives a verdict, and no tool is called like one.

mod asking;
mod elicit;
mod exact;
pub(crate) mod http;
mod later;
mod page;
mod prompt;
mod resource;
mod tool;
mod tools;

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use checkrein_core::principal::Principal;
use checkrein_engine::{Act, Engine, OwnAttempt, allowed};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, GetPromptRequestParams,
    GetPromptResponse, Implementation, ListPromptsResult, ListResourceTemplatesResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ReadResourceRequestParams, ReadResourceResponse,
    ReadResourceResult, ResourceContents, ServerCapabilities, ServerConfig,
};
use rmcp::service::{RequestContext, RoleServer};
use rmcp::{ErrorData, ServerHandler};
use tokio::sync::watch;

use crate::app::Experts;
use crate::error::Problem;
use asking::Asking;
pub use asking::{Caller, Look};
pub use later::LaterStore;
pub use page::{authorization, page};
pub use tool::Effect;
use tool::{Needs, Told, Tool};

/// Where an MCP server stands.
#[derive(Clone)]
pub struct Place {
    /// None where the store is out of reach, as in a sandbox.
    pub engine: Option<Arc<Engine>>,
    /// How a store is made that is not there yet.
    pub later: Option<LaterStore>,
    /// The attempt this very process is part of.
    pub attempt: Option<OwnAttempt>,
    /// Finds the experts that have a file.
    pub experts: Experts,
    /// Where the agent works, by which its session of frames is found.
    pub directory: Option<String>,
    /// Whoever acts, unless each request says so itself.
    pub by: Option<Principal>,
    /// Made once the client has asked for the tools.
    pub tools_listed: Option<PathBuf>,
    /// Becomes true when the server ends.
    pub closing: Option<watch::Receiver<bool>>,
}

impl Place {
    fn has(&self, needs: Needs) -> bool {
        let store = self.engine.is_some();
        match needs {
            Needs::Store => store,
            Needs::Phase => store || matches!(self.attempt, Some(OwnAttempt::Phase(_))),
            Needs::Attempt => store || self.attempt.is_some(),
        }
    }

    /// Ready when the server ends; whoever waits should not.
    async fn closing(&self) {
        let Some(mut closing) = self.closing.clone() else { return std::future::pending().await };
        if closing.wait_for(|closing| *closing).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

/// Cheap to clone; all clones are the same.
#[derive(Clone)]
pub struct Mcp {
    place: Arc<Place>,
    tools: Arc<Vec<Tool>>,
}

impl Mcp {
    pub fn new(place: Place) -> Mcp {
        Mcp { place: Arc::new(place), tools: Arc::new(tools::all()) }
    }

    /// Answers on a pair of streams until the other side closes them.
    pub async fn serve<R, W>(self, input: R, output: W) -> Result<(), String>
    where
        R: tokio::io::AsyncRead + Send + Unpin + 'static,
        W: tokio::io::AsyncWrite + Send + Unpin + 'static,
    {
        use rmcp::service::ServerInitializeError;
        let running = match rmcp::serve_server(self, (exact::noting(input), output)).await {
            Ok(running) => running,
            // A client that goes before it has said anything is nobody's error.
            Err(ServerInitializeError::ConnectionClosed(_)) => return Ok(()),
            Err(error) => return Err(error.to_string()),
        };
        running.waiting().await.map(|_| ()).map_err(|error| error.to_string())
    }

    /// What is in reach of a caller: whoever speaks for one attempt is where that attempt is.
    fn place_of(&self, caller: &Caller) -> Arc<Place> {
        match &caller.attempt {
            Some(attempt) => {
                let own = (*self.place).clone();
                Arc::new(Place { engine: None, attempt: Some(attempt.clone()), ..own })
            }
            None => match self.place.later.as_ref().and_then(LaterStore::opened) {
                Some(engine) => Arc::new(Place { engine: Some(engine), ..(*self.place).clone() }),
                None => Arc::clone(&self.place),
            },
        }
    }

    /// What a caller finds here; whatever it may not use is not there for it.
    fn tools_of(&self, caller: &Caller) -> impl Iterator<Item = &Tool> {
        let (place, role) = (self.place_of(caller), caller.by.role);
        self.tools.iter().filter(move |tool| allowed(role, tool.act) && place.has(tool.needs))
    }

    fn keeps_frames(&self, caller: &Caller) -> bool {
        allowed(caller.by.role, Act::KeepFrames) && self.place_of(caller).has(Needs::Store)
    }

    fn caller(&self, context: &RequestContext<RoleServer>) -> Result<Caller, ErrorData> {
        let of_request = context.extensions.get::<axum::http::request::Parts>();
        let caller = of_request.and_then(|parts| parts.extensions.get::<Caller>().cloned());
        let own = || self.place.by.clone().map(|by| Caller { by, look: Look::Command, attempt: None });
        caller.or_else(own).ok_or_else(|| ErrorData::invalid_request("it takes a token", None))
    }
}

const INSTRUCTIONS: &str = "\
Checkrein holds work for a person at the right moments. Ask with request_checkpoint before you do what needs an \
approval; while it is pending, wait with check_checkpoint and do not go on. Verdicts are given by people elsewhere: \
tell them the id and where to look. Inside a job, todo_list and get_review say what is to be done, and todo_complete, \
next_phase_todos, reply_comment, report_response, request_replan and job_complete hand in what you did. In a long \
session, flame_push begins a frame for a part of the work, flame_pop folds it into a summary, and \
flame_context_preview shows what was learned elsewhere.";

impl ServerHandler for Mcp {
    fn get_info(&self) -> ServerConfig {
        let capabilities =
            ServerCapabilities::builder().enable_tools().enable_prompts().enable_resources().build();
        let implementation = Implementation::new("checkrein", env!("CARGO_PKG_VERSION"));
        ServerConfig::new(capabilities).with_server_info(implementation).with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let caller = self.caller(&context)?;
        if let Some(proof) = &self.place.tools_listed {
            std::fs::write(proof, b"").map_err(|error| {
                ErrorData::internal_error(format!("`{}` cannot be written: {error}", proof.display()), None)
            })?;
        }
        Ok(ListToolsResult::with_all_items(self.tools_of(&caller).map(Tool::described).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let caller = self.caller(&context)?;
        let Some(tool) = self.tools_of(&caller).find(|tool| tool.name == request.name) else {
            return Err(ErrorData::invalid_params(format!("there is no tool `{}`", request.name), None));
        };
        if let Some(problem) = exact::refusal(&context.meta, tool.exact) {
            return Ok(self.failed(&problem).into());
        }
        if let Some(later) = self.place.later.as_ref().filter(|_| caller.attempt.is_none())
            && let Err(problem) = later.open(tool.effect)
        {
            return Ok(self.failed(&problem).into());
        }
        let arguments = serde_json::to_vec(&request.arguments.clone().unwrap_or_default());
        let arguments = arguments.map_err(|error| ErrorData::invalid_params(error.to_string(), None))?;
        let asking = Asking { place: self.place_of(&caller), caller, context, request };
        Ok(match (tool.handler)(asking, arguments.into()).await {
            Ok(Told::Input(input)) => CallToolResponse::InputRequired(*input),
            Ok(Told::Json(value)) => CallToolResult::structured(self.masked(value)).into(),
            Ok(Told::Both(text, value)) => {
                let mut result = CallToolResult::structured(self.masked(value));
                result.content = vec![ContentBlock::text(self.clean(&text))];
                result.into()
            }
            Ok(Told::Text(text)) => {
                CallToolResult::success(vec![ContentBlock::text(self.clean(&text))]).into()
            }
            Err(problem) => self.failed(&problem).into(),
        })
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let caller = self.caller(&context)?;
        Ok(ListPromptsResult::with_all_items(if self.keeps_frames(&caller) {
            prompt::all()
        } else {
            Vec::new()
        }))
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let caller = self.caller(&context)?;
        let made = if self.keeps_frames(&caller) { prompt::made(&request) } else { None };
        let none = || ErrorData::invalid_params(format!("there is no prompt `{}`", request.name), None);
        made.map(GetPromptResponse::from).ok_or_else(none)
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        let caller = self.caller(&context)?;
        Ok(ListResourcesResult::with_all_items(resource::all(&self.place_of(&caller), &caller.by).await?))
    }

    async fn list_resource_templates(
        &self,
        _: Option<PaginatedRequestParams>,
        context: RequestContext<RoleServer>,
    ) -> Result<ListResourceTemplatesResult, ErrorData> {
        self.caller(&context)?;
        Ok(ListResourceTemplatesResult::with_all_items(resource::templates()))
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let caller = self.caller(&context)?;
        let (text, kind) = resource::read(&self.place_of(&caller), &caller.by, &request.uri).await?;
        let contents = ResourceContents::text(self.clean(&text), request.uri).with_mime_type(kind);
        Ok(ReadResourceResult::new(vec![contents]).into())
    }
}

impl Mcp {
    /// What went wrong, and what to do next, where the model reads it.
    fn failed(&self, problem: &Problem) -> CallToolResult {
        let mut text = problem.detail.clone();
        if let Some(hint) = &problem.hint {
            text.push_str(&format!("\nhint: {hint}"));
        }
        for fault in problem.errors.iter().filter_map(|fault| fault.hint.as_ref()) {
            text.push_str(&format!("\nhint: {fault}"));
        }
        CallToolResult::error(vec![ContentBlock::text(self.clean(&text))])
    }

    /// A text without what is secret here.
    fn clean(&self, text: &str) -> String {
        match &self.place.engine {
            Some(engine) => String::from_utf8_lossy(&engine.redacted(text.as_bytes())).into_owned(),
            None => text.to_owned(),
        }
    }

    fn masked(&self, value: serde_json::Value) -> serde_json::Value {
        let Some(engine) = &self.place.engine else { return value };
        let written = value.to_string();
        match engine.redacted_json(written.as_bytes(), None) {
            Cow::Owned(clean) => serde_json::from_slice(&clean).unwrap_or_default(),
            Cow::Borrowed(_) => value,
        }
    }
}
