//! One way in: method, path, who may use it, what it takes and what it gives. The types of the handler
//! are what is described, so the description cannot drift from the code.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use axum::body::Bytes;
use axum::http::Method;
use checkrein_core::principal::Role;
use checkrein_engine::{Act, allowed};
use schemars::SchemaGenerator;
use schemars::generate::SchemaSettings;
use serde_json::Value;

use crate::answer::{Answer, Sent};
use crate::ask::{Body, Expected, Parameter, Question};
use crate::call::Call;
use crate::error::{Kind, Problem};

/// Who may use a route.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Anybody, without saying who they are.
    Open,
    /// Everybody who is known.
    Known,
    /// Whoever may do this.
    To(Act),
}

impl Access {
    /// Whether a role is enough; none is nobody in particular.
    pub fn allows(self, role: Option<Role>) -> bool {
        match (self, role) {
            (Access::Open, _) => true,
            (_, None) => false,
            (Access::Known, Some(_)) => true,
            (Access::To(act), Some(role)) => allowed(role, act),
        }
    }
}

/// Whether the same request may be sent again under an `Idempotency-Key`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keyed {
    /// Its first answer is kept and given again.
    Yes,
    /// A key is nothing to it: it changes nothing.
    Needless,
    /// Its answer has a secret and is not kept, so a key would promise what is not done.
    Never,
}

/// Whether an answer has an end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    Whole,
    MayStream,
}

/// Whether what is secret here may be in an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Secrets {
    Masked,
    /// The one answer that is a secret.
    Shown,
}

/// Descriptions that can be looked into, without references to others.
pub fn inline() -> SchemaGenerator {
    SchemaSettings::draft2020_12().with(|settings| settings.inline_subschemas = true).into_generator()
}

type Answering = Pin<Box<dyn Future<Output = Result<Sent, Problem>> + Send>>;
type WholeHandler = dyn Fn(Call, String, Bytes) -> Answering + Send + Sync;
type PieceHandler = dyn Fn(Call, String, axum::body::Body) -> Answering + Send + Sync;

/// What does the work of a route.
#[derive(Clone)]
pub enum Handler {
    /// With the body in hand.
    Whole(Arc<WholeHandler>),
    /// With the body as it comes: it is as large as it is.
    Pieces(Arc<PieceHandler>),
}

/// How somebody may say who they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Login {
    /// By a token, or by the cookie of a session.
    Usual,
    /// By a token alone, also as the password git asks for.
    Password,
}

#[derive(Clone)]
pub struct Route {
    pub method: Method,
    pub path: &'static str,
    /// The name of the operation in clients.
    pub id: &'static str,
    /// What it is for, in a sentence.
    pub about: &'static str,
    pub access: Access,
    /// What takes more than that, and which act it is then.
    pub more: &'static [(&'static str, Act)],
    pub login: Login,
    pub keyed: Keyed,
    /// What it may refuse, beside what any route may.
    pub refuses: &'static [Kind],
    pub expected: Expected,
    pub format: Format,
    /// What a request of somebody unknown may bring, where that is more than usual.
    pub body_bytes_max: Option<usize>,
    pub secrets: Secrets,
    pub parameters: fn(&mut SchemaGenerator) -> Vec<Parameter>,
    pub body: fn(&mut SchemaGenerator) -> Option<Value>,
    pub answers: fn(&mut SchemaGenerator) -> Vec<(u16, Value)>,
    pub handler: Handler,
}

impl Route {
    pub fn get<Q, A, F, W>(path: &'static str, handler: F) -> Route
    where
        Q: Question + 'static,
        A: Answer + 'static,
        F: Fn(Call, Q) -> W + Send + Sync + 'static,
        W: Future<Output = Result<A, Problem>> + Send + 'static,
    {
        // INVARIANT: a GET takes no body, and nothing behind one decides or changes anything.
        Route::new(Method::GET, path, move |call, query, _: crate::ask::Nothing| handler(call, query))
    }

    pub fn post<B, A, F, W>(path: &'static str, handler: F) -> Route
    where
        B: Body + 'static,
        A: Answer + 'static,
        F: Fn(Call, B) -> W + Send + Sync + 'static,
        W: Future<Output = Result<A, Problem>> + Send + 'static,
    {
        let handler = move |call, _: crate::ask::Nothing, body| handler(call, body);
        Route { keyed: Keyed::Yes, ..Route::new(Method::POST, path, handler) }
    }

    pub fn delete<A, F, W>(path: &'static str, handler: F) -> Route
    where
        A: Answer + 'static,
        F: Fn(Call) -> W + Send + Sync + 'static,
        W: Future<Output = Result<A, Problem>> + Send + 'static,
    {
        let handler = move |call, _: crate::ask::Nothing, _: crate::ask::Nothing| handler(call);
        // Doing it again does nothing again.
        Route::new(Method::DELETE, path, handler)
    }

    /// A way in for git, whose bodies are passed on as they come.
    pub fn git<Q, A, F, W>(method: Method, path: &'static str, handler: F) -> Route
    where
        Q: Question + 'static,
        A: Answer + 'static,
        F: Fn(Call, Q, axum::body::Body) -> W + Clone + Send + Sync + 'static,
        W: Future<Output = Result<A, Problem>> + Send + 'static,
    {
        let known = Q::parameters(&mut inline());
        let pieces = handler.clone();
        let answer = move |call: Call, query: String, body: axum::body::Body| -> Answering {
            match Q::read(&query, &known) {
                Ok(query) => {
                    let working = pieces(call, query, body);
                    Box::pin(async move { working.await?.sent() })
                }
                Err(problem) => Box::pin(std::future::ready(Err(problem))),
            }
        };
        let described =
            move |call, query, _: crate::ask::Nothing| handler(call, query, axum::body::Body::empty());
        let route = Route::new(method, path, described);
        Route { handler: Handler::Pieces(Arc::new(answer)), login: Login::Password, ..route }
    }

    fn new<Q, B, A, F, W>(method: Method, path: &'static str, handler: F) -> Route
    where
        Q: Question + 'static,
        B: Body + 'static,
        A: Answer + 'static,
        F: Fn(Call, Q, B) -> W + Send + Sync + 'static,
        W: Future<Output = Result<A, Problem>> + Send + 'static,
    {
        let known = Q::parameters(&mut inline());
        let shape = B::schema(&mut inline());
        let answer = move |call: Call, query: String, body: Bytes| -> Answering {
            let asked =
                Q::read(&query, &known).and_then(|query| Ok((query, B::read(&body, shape.as_ref())?)));
            match asked {
                Ok((query, body)) => {
                    let working = handler(call, query, body);
                    Box::pin(async move { working.await?.sent() })
                }
                Err(problem) => Box::pin(std::future::ready(Err(problem))),
            }
        };
        Route {
            method,
            path,
            id: "",
            about: "",
            access: Access::Known,
            more: &[],
            login: Login::Usual,
            keyed: Keyed::Needless,
            refuses: &[],
            expected: B::EXPECTED,
            format: Format::Whole,
            body_bytes_max: None,
            secrets: Secrets::Masked,
            parameters: Q::parameters,
            body: B::schema,
            answers: A::described,
            handler: Handler::Whole(Arc::new(answer)),
        }
    }

    pub fn about(self, id: &'static str, about: &'static str) -> Route {
        Route { id, about, ..self }
    }

    pub fn access(self, access: Access) -> Route {
        Route { access, ..self }
    }

    pub fn to(self, act: Act) -> Route {
        Route { access: Access::To(act), ..self }
    }

    /// What takes more, in words that follow the route's own.
    pub fn more(self, more: &'static [(&'static str, Act)]) -> Route {
        Route { more, ..self }
    }

    pub fn refuses(self, refuses: &'static [Kind]) -> Route {
        Route { refuses, ..self }
    }

    pub fn body_bytes_max(self, bytes: usize) -> Route {
        Route { body_bytes_max: Some(bytes), ..self }
    }

    /// For whoever accepts a stream of events.
    pub fn streams(self) -> Route {
        Route { format: Format::MayStream, ..self }
    }

    pub fn shows_secret(self) -> Route {
        Route { secrets: Secrets::Shown, keyed: Keyed::Never, ..self }
    }

    /// A POST that changes nothing.
    pub fn changes_nothing(self) -> Route {
        Route { keyed: Keyed::Needless, ..self }
    }
}
