//! What every back end has to keep. The cases know neither SQL nor files: a back end says how a handle
//! on a fresh store is opened, and runs them all.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "helpers of tests may fail like tests"
)]

#[path = "../shared/postgres.rs"]
#[allow(dead_code, reason = "other tests use the rest")]
mod server;

mod answered;
mod changes;
mod chats;
mod checkpoints;
mod content;
mod copy;
mod events;
mod frames;
mod history;
mod index;
mod leases;
mod runs;
mod sessions;
mod tokens;
mod webhooks;

use std::sync::Arc;

use checkrein_core::checkpoint::{
    Checkpoint, CheckpointId, CheckpointStatus, GivenVerdict, Resolved, Verdict,
};
use checkrein_core::deliverable::{Content, Deliverable};
use checkrein_core::event::Event;
use checkrein_store::{Commit, Store, StoreAddress, Version};
use jiff::Timestamp;

use server::PostgresServer;

/// Opens another handle on the same store, as another process would.
type Open<'a> = &'a (dyn Fn() -> Store + Send + Sync);

/// Runs each case on a fresh place of a back end.
macro_rules! contract {
    ($backend:ident, $place:ty, [$($area:ident :: $case:ident),* $(,)?]) => {
        mod $backend {
            $(
                #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
                async fn $case() {
                    let place = <$place>::new();
                    crate::$area::$case(&|| place.open()).await;
                }
            )*
        }
    };
}

/// All cases, for one back end.
macro_rules! every_case {
    ($backend:ident, $place:ty) => {
        contract!(
            $backend,
            $place,
            [
                frames::a_session_is_read_again_as_it_was,
                frames::an_older_version_of_a_session_is_a_conflict,
                frames::parallel_writers_lose_no_frame,
                frames::sessions_are_listed_by_owner_and_directory,
                frames::suggestions_are_listed_and_found,
                frames::sessions_nobody_touched_go_with_all_they_have,
                frames::sessions_are_exported_and_imported,
                checkpoints::what_is_created_is_read_again,
                checkpoints::what_is_not_there_is_none,
                checkpoints::an_id_is_taken_once,
                checkpoints::an_older_version_is_a_conflict,
                checkpoints::a_newer_version_is_a_conflict,
                checkpoints::one_of_many_racing_verdicts_wins,
                checkpoints::a_list_is_in_creation_order_and_filtered,
                checkpoints::pages_hold_everything_once,
                checkpoints::what_timed_out_counts_as_rejected,
                checkpoints::another_handle_reads_what_was_acknowledged,
                events::positions_follow_commit_order_without_gaps_in_a_stream,
                events::a_reader_that_resumes_misses_nothing,
                events::a_refused_command_takes_no_other_with_it,
                events::a_refused_commit_leaves_no_event,
                content::content_comes_back_as_it_was,
                content::content_is_kept_once,
                copy::everything_is_there_after_it_was_copied,
                copy::only_an_empty_store_takes_another_ones_place,
                tokens::a_token_is_found_by_its_secret_until_revoked,
                tokens::a_token_that_was_just_used_is_revoked_at_once,
                tokens::a_secret_is_taken_once,
                sessions::a_session_is_found_by_its_secret_with_its_token,
                sessions::a_session_that_is_over_is_not_listed_and_then_forgotten,
                answered::a_key_stands_for_one_request_and_its_answer,
                answered::two_that_begin_at_once_are_one,
                webhooks::a_webhook_is_read_again_and_begins_at_the_end_of_the_log,
                webhooks::of_two_who_tell_a_webhook_one_is_first,
                webhooks::a_delivery_is_claimed_by_one_until_its_time_is_over,
                webhooks::what_came_of_it_is_said_of_its_webhook,
                webhooks::deliveries_are_listed_newest_first_and_forgotten_when_they_are_old,
                chats::a_job_has_one_conversation,
                chats::one_answer_is_written_at_a_time,
                chats::a_proposal_is_settled_once,
                chats::what_has_led_to_no_job_is_listed,
                chats::conversations_are_exported_and_imported,
                chats::conversations_are_copied,
                chats::a_conversation_goes_with_its_job,
                changes::a_commit_of_this_handle_is_marked,
                changes::a_commit_of_another_handle_is_marked,
                changes::no_commit_after_the_first_look_goes_unmarked,
                changes::nothing_is_marked_when_nothing_happens,
                index::what_changed_is_found_and_what_is_gone_is_not,
                index::an_index_that_was_made_again_is_another_one,
                index::words_are_ranked_by_how_rare_they_are,
                index::nothing_of_another_job_is_found,
                index::the_nearest_are_told_or_left_to_whoever_asks,
                index::what_one_handle_indexed_another_finds,
                index::a_change_that_was_made_against_another_commit_is_left_out,
                index::much_is_indexed_at_once,
                history::the_fold_of_events_is_the_row,
                leases::what_has_waited_longest_is_taken_first_and_once,
                leases::many_who_claim_at_once_share_the_runs,
                leases::a_lease_that_ran_out_is_taken_over_once,
                leases::a_change_under_an_old_lease_is_refused,
                leases::who_has_the_lock_of_the_host_takes_over_at_once,
                leases::a_run_that_waits_for_a_person_is_not_taken_until_there_is_an_answer,
                leases::an_answer_that_comes_while_it_is_given_back_is_not_lost,
                leases::a_run_is_taken_where_its_files_and_labels_are,
                leases::a_run_that_somebody_passes_by_is_left_to_others,
                leases::a_run_can_go_on_elsewhere_from_the_moment_its_files_can,
                leases::a_repository_has_no_more_runs_at_once_than_it_may,
                leases::renewing_tells_what_is_gone,
                leases::what_a_worker_let_go_of_is_not_renewed,
                leases::workers_are_known_until_they_leave,
                leases::a_run_can_belong_to_whoever_makes_it,
                leases::a_run_that_is_forgotten_has_no_lease,
                runs::a_run_that_is_committed_is_read_again,
                runs::an_older_version_of_a_run_is_a_conflict,
                runs::a_run_and_its_checkpoint_come_together_or_not_at_all,
                runs::a_list_has_the_newest_first,
                runs::an_agent_has_what_it_made_and_what_belongs_to_that,
                runs::an_id_is_found_by_its_beginning_or_end,
                runs::runs_are_moved_with_everything_that_belongs_to_them,
                runs::a_run_is_forgotten_only_as_it_was_seen,
            ]
        );
    };
}

every_case!(sqlite, crate::Sqlite);
every_case!(postgres, crate::Postgres);

struct Sqlite(tempfile::TempDir);

impl Sqlite {
    fn new() -> Sqlite {
        Sqlite(tempfile::tempdir().unwrap())
    }

    fn open(&self) -> Store {
        Store::open(&self.0.path().join("store.db")).unwrap()
    }
}

struct Postgres {
    _server: Arc<PostgresServer>,
    address: StoreAddress,
    files: tempfile::TempDir,
}

impl Postgres {
    fn new() -> Postgres {
        let server = PostgresServer::shared();
        let address = StoreAddress::parse(&server.database()).unwrap();
        Postgres { _server: server, address, files: tempfile::tempdir().unwrap() }
    }

    fn open(&self) -> Store {
        Store::open_at(&self.address, self.files.path()).unwrap()
    }
}

fn time(ms: i64) -> Timestamp {
    Timestamp::from_millisecond(ms).unwrap()
}

fn id(text: &str) -> CheckpointId {
    CheckpointId::new(text).unwrap()
}

fn text(text: &str) -> Content {
    Deliverable::Text(text.to_owned()).content().unwrap()
}

fn pending(name: &str) -> Checkpoint {
    Checkpoint {
        id: id(name),
        run: None,
        owner: None,
        created_by: None,
        worker: "writer".to_owned(),
        phase: "draft".to_owned(),
        kind: "deliverable".to_owned(),
        status: CheckpointStatus::Pending,
        digest: text(name).digest,
        moved: false,
        round: 1,
        created_at: time(1_000),
        expires_at: None,
        resolved_at: None,
        reason: None,
        resolved_by: None,
    }
}

fn creation(checkpoint: Checkpoint) -> Commit {
    Commit {
        expected: Version(0),
        events: vec![Event::created(&checkpoint)],
        at: checkpoint.created_at,
        content: None,
        checkpoint,
    }
}

fn resolution(checkpoint: &Checkpoint, expected: Version, verdict: Verdict, at_ms: i64) -> Commit {
    let given = GivenVerdict {
        verdict,
        reason: Some(format!("because {at_ms}")),
        by: "ann".to_owned(),
        digest: None,
        at: time(at_ms),
    };
    let Ok(Resolved::Now(next)) = checkpoint.resolve(&given) else { panic!("not pending") };
    Commit {
        expected,
        events: vec![Event::resolved(&next)],
        at: time(at_ms),
        content: None,
        checkpoint: *next,
    }
}
