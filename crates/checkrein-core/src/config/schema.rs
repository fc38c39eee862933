//! JSON schemas of what people write by hand and what programs read, generated from the types.

use schemars::{JsonSchema, Schema, generate::SchemaSettings};

use super::checkrein::CheckreinShape;
use super::expert::ExpertShape;
use super::tenant::TenantShape;
use super::workflow::WorkflowFile;
use crate::decision::Request;
use crate::frame::{PopRequest, PushRequest};
use crate::report::{AcrossJson, ReportJson};
use crate::response::ResponseShape;
use crate::run::log::{StepResponse, WorkflowExecution};

/// A schema by name; a new one is a new row.
pub struct SchemaSource {
    pub name: &'static str,
    pub about: &'static str,
    pub schema: fn() -> Schema,
}

#[rustfmt::skip]
pub static SCHEMAS: &[SchemaSource] = &[
    SchemaSource { name: "config",      about: "checkrein.yaml",                          schema: of::<CheckreinShape> },
    SchemaSource { name: "workflow",    about: "a workflow file",                         schema: of::<WorkflowFile> },
    SchemaSource { name: "response",    about: "what a step or hook returns",             schema: of::<ResponseShape> },
    SchemaSource { name: "tenant",      about: "a tenant file",                           schema: of::<TenantShape> },
    SchemaSource { name: "expert",      about: "an expert's config.yaml",                 schema: of::<ExpertShape> },
    SchemaSource { name: "decide",      about: "the request of `policy decide`",          schema: of::<Request> },
    SchemaSource { name: "should-push", about: "the request of `frame should-push`",      schema: of::<PushRequest> },
    SchemaSource { name: "should-pop",  about: "the request of `frame should-pop`",       schema: of::<PopRequest> },
    SchemaSource { name: "report",      about: "the report of a run, for programs",       schema: of::<ReportJson<'_>> },
    SchemaSource { name: "report-across", about: "the report across runs, for programs",  schema: of::<AcrossJson> },
    SchemaSource { name: "step-response", about: "the record of one response",            schema: of::<StepResponse> },
    SchemaSource { name: "workflow-execution", about: "the record of a run that came to rest", schema: of::<WorkflowExecution> },
];

fn of<T: JsonSchema>() -> Schema {
    SchemaSettings::draft2020_12().into_generator().into_root_schema_for::<T>()
}
